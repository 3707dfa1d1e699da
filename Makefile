# Two commands from a fresh machine: `make drill` and `make test`.
GO ?= go
RECKON := bin/reckon
REVISION := $(shell git describe --always --dirty --abbrev=12 2>/dev/null)
COMPONENTS := $(CURDIR)/bin/components
KEEP = for run in bin/baselines/runs/*Z-*; do \
	  to=results/baselines/$${run\#\#*Z-}; mkdir -p $$to; cp $$run/recording.jsonl.zst $$run/verdict.json $$to/; done

.PHONY: build drill drill-kind test test-kind unit components kind-components kind-node lint bench nightly track-record baselines baselines-rollouts baselines-kubernetes baselines-istiod baselines-istiod-kind baselines-kind clean

# As components are built: so all of it shares what the compiler has cached.
SHARED := CGO_ENABLED=0 GOFLAGS='$(strip $(shell $(GO) env GOFLAGS) -trimpath)'

build:
	$(SHARED) $(GO) build -ldflags "-X reckon.dev/reckon/harness/cli.revision=$(REVISION)" -o $(RECKON) .

drill: build
	$(RECKON) run default

# Real pods, istiod and Argo Rollouts in containers: wants a container engine, and
# builds what no registry gives (see README).
drill-kind: build
	$(RECKON) run kind

# Programs of the integration tests, built or taken from the cache.
components: build
	$(RECKON) build --into $(COMPONENTS) etcd kwok kubernetes argo-rollouts istiod traffic

# What real clusters need beside them.
kind-components: build
	$(RECKON) build kind-node istiod argo-rollouts traffic

# The image of real clusters' nodes, which their tests want (as root; see README).
kind-node: build
	$(RECKON) build kind-node

# Not vetted here: that is lint's, and would look through every dependency anew.
test: components
	RECKON_TEST_BINARIES=$(COMPONENTS) RECKON=$(CURDIR)/$(RECKON) $(GO) test -race -vet off -timeout 40m ./...

# What needs real clusters, one package after the other: two cores are few.
test-kind: kind-components
	$(SHARED) RECKON_TEST_KIND=$(CURDIR)/$(RECKON) $(GO) test -vet off -p 1 -count 1 -timeout 40m ./harness/cluster/kind ./harness/component/... ./harness/engine .

# What needs no cluster, in seconds.
unit:
	$(GO) test -short ./...

lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	$(SHARED) $(GO) vet ./...
	$(SHARED) $(GO) tool staticcheck ./...

bench: components
	RECKON_TEST_BINARIES=$(COMPONENTS) RECKON=$(CURDIR)/$(RECKON) $(GO) test -p 1 -run '^$$' -bench . -benchtime 1x -timeout 40m ./...

# What .github/workflows/nightly.yml runs.
nightly:
	.ci/nightly

# Public issues, and the cells of drills, against committed recordings:
# results/track-record.md and results/catalogue.md.
track-record:
	$(GO) test ./scenarios -run 'TestTrackRecord|TestCatalogue' -update

# What real controllers did, as committed below results/baselines: a table for
# each drill, and each run's recording with its verdict, which a test judges again.
baselines: baselines-rollouts baselines-kubernetes baselines-istiod baselines-istiod-kind baselines-kind

baselines-rollouts: build
	rm -rf bin/baselines
	for drill in rollback-versions rollback-controls rollouts-catalogue-a rollouts-catalogue-b; do \
	  $(RECKON) run $$drill --parallel 4 --results bin/baselines -o markdown > results/baselines/$$drill.md || exit 1; done
	$(KEEP)

baselines-kubernetes: build
	rm -rf bin/baselines
	for version in v1.37.2 v1.34.2; do \
	  for drill in single-replica-restart deployments revisions statefulsets evictions autoscaled-update; do \
	    $(RECKON) run $$drill --kubernetes $$version --results bin/baselines -o markdown \
	      > results/baselines/$$drill-kubernetes-$$version.md || exit 1; done; done
	$(KEEP)

# Real istiods and their proxies, whose times are those of the machine: more than an
# hour, alone on it, and as root for the limits on their CPU.
baselines-istiod: build
	rm -rf bin/baselines
	for drill in istiod istiod-incident istiod-throttle istiod-cost; do \
	  $(RECKON) run $$drill --results bin/baselines -o markdown > results/baselines/$$drill.md || exit 1; done
	$(KEEP)

# And those of real pods, half an hour.
baselines-istiod-kind: build
	rm -rf bin/baselines
	$(RECKON) run istiod-kind --repeat 5 --results bin/baselines -o markdown > results/baselines/istiod-kind.md
	$(KEEP)

# On real pods, and alone on its machine: what other work does to it is in its numbers.
baselines-kind: build
	rm -rf bin/baselines
	for drill in shutdown rollback-requests rollback-escapes; do \
	  $(RECKON) run $$drill --results bin/baselines -o markdown > results/baselines/$$drill.md || exit 1; done
	$(KEEP)

clean: build
	$(RECKON) clean
	rm -rf bin results/runs results/campaigns results/nightly
