package record

import (
	"fmt"
	"strings"
)

// Bodies of the size and shape that a real API server sends.

const managedFields = `"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:deployment.kubernetes.io/desired-replicas":{},"f:deployment.kubernetes.io/max-replicas":{},"f:deployment.kubernetes.io/revision":{}},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"0d1f3f0e-7a63-4f8b-8f2b-0c8a2a6f4f11\"}":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}}}},{"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","time":"2026-01-02T03:04:06Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:availableReplicas":{},"f:fullyLabeledReplicas":{},"f:observedGeneration":{},"f:readyReplicas":{},"f:replicas":{}}},"subresource":"status"}]`

func metadata(name string, rv int) string {
	return fmt.Sprintf(`{"name":%q,"namespace":"drill","uid":"0d1f3f0e-7a63-4f8b-8f2b-0c8a2a6f4f11","resourceVersion":"%d","generation":3,"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"demo","pod-template-hash":"6f7c9d5b7c"},"annotations":{"deployment.kubernetes.io/desired-replicas":"20","deployment.kubernetes.io/revision":"4","kubectl.kubernetes.io/last-applied-configuration":"{\"kind\":\"ReplicaSet\"}\n"},"ownerReferences":[{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","name":"demo","uid":"9d1f3f0e-7a63-4f8b-8f2b-0c8a2a6f4f11","controller":true,"blockOwnerDeletion":true}],%s}`, name, rv, managedFields)
}

func replicaSetBody(i, rv int) string {
	return `{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":` + metadata(fmt.Sprintf("demo-%d", i), rv) +
		fmt.Sprintf(`,"spec":{"replicas":%d,"selector":{"matchLabels":{"app":"demo","pod-template-hash":"6f7c9d5b7c"}},"template":{"metadata":{"labels":{"app":"demo","pod-template-hash":"6f7c9d5b7c"}},"spec":{"containers":[{"name":"app","image":"registry.example/demo:v2","ports":[{"containerPort":8080,"protocol":"TCP"}],"resources":{"requests":{"cpu":"10m","memory":"16Mi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"}}},"status":{"replicas":%d,"fullyLabeledReplicas":20,"readyReplicas":%d,"availableReplicas":%d,"observedGeneration":3}}`, rv%20, rv%20, rv%19, rv%18)
}

func podBody(i, rv int) string {
	return `{"kind":"Pod","apiVersion":"v1","metadata":` + metadata(fmt.Sprintf("demo-6f7c9d5b7c-%d", i), rv) +
		fmt.Sprintf(`,"spec":{"volumes":[{"name":"kube-api-access-x7v2p","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[{"name":"app","image":"registry.example/demo:v2","ports":[{"containerPort":8080,"protocol":"TCP"}],"resources":{"requests":{"cpu":"10m","memory":"16Mi"}},"volumeMounts":[{"name":"kube-api-access-x7v2p","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","nodeName":"node-3","securityContext":{},"readinessGates":[{"conditionType":"reckon.dev/scripted"}],"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true},"status":{"phase":"Running","conditions":[{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z"},{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:06Z"},{"type":"ContainersReady","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:06Z"},{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z"}],"hostIP":"10.0.0.3","podIP":"10.244.0.%d","podIPs":[{"ip":"10.244.0.7"}],"startTime":"2026-01-02T03:04:05Z","containerStatuses":[{"name":"app","state":{"running":{"startedAt":"2026-01-02T03:04:06Z"}},"lastState":{},"ready":true,"restartCount":%d,"image":"registry.example/demo:v2","imageID":"registry.example/demo@sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","containerID":"containerd://fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9","started":true}],"qosClass":"Burstable"}}`, i%250, rv%3)
}

func virtualServiceBody(i, rv int) string {
	return `{"apiVersion":"networking.istio.io/v1","kind":"VirtualService","metadata":` + metadata(fmt.Sprintf("vs-%d", i), rv) +
		fmt.Sprintf(`,"spec":{"hosts":["demo.drill.svc.cluster.local"],"http":[{"name":"primary","route":[{"destination":{"host":"demo","subset":"stable"},"weight":%d},{"destination":{"host":"demo","subset":"canary"},"weight":%d}],"timeout":"5s","retries":{"attempts":2,"perTryTimeout":"2s","retryOn":"gateway-error,connect-failure,refused-stream"}}]}}`, 100-rv%100, rv%100)
}

func eventLine(kind, object string) string {
	return `{"type":"` + kind + `","object":` + object + "}\n"
}

func listBody(rv int, objects ...string) string {
	return fmt.Sprintf(`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[%s]}`,
		rv, strings.Join(objects, ","))
}
