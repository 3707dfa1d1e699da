"""An independent simulator of the connection model, plain and slow: a heap, a set of
connections for each replica, sums taken anew for each reading. Its numbers are in
reference.tsv, which the package's tests hold the Go simulator against.

    python3 reference.py > reference.tsv
"""
import heapq
import math
import random
import statistics


def life(A, g, rng):
    return A * rng.uniform(0.9, 1.1) + g


def residual(A, g, rng):
    """What is left of a connection met at a random time: a length-biased life, times U(0,1)."""
    while True:
        L = life(A, g, rng)
        if rng.random() < L / (1.1 * A + g):
            return rng.random() * L


def spread(c):
    m = sum(c) / len(c) if c else 0
    if not m:
        return 0, 0
    return math.sqrt(sum((x - m) ** 2 for x in c) / len(c)) / m, max(c) / m


def run(seed, A, g, N, k, events, readings, limit=None, fresh=False, gap=0.5, base=1, cap=30):
    """events: (t, 'leave', how many of the oldest, shortest and longest delay until it is
    noticed, whether an age that ends before does end it) or (t, 'ready', how many). Returns a row (CoV, max/mean, connected, connects)
    for each reading, and the number of refusals."""
    rng = random.Random(seed)
    replicas, where, accepted, gen = {i: set() for i in range(k)}, {}, {}, [0] * N
    queue, seq, born, ends = [], 0, k, {}

    def push(t, *what):
        nonlocal seq
        seq += 1
        heapq.heappush(queue, (t, seq) + what)

    for e in events:
        push(*e)
    for i in range(N):
        p = rng.choice(list(replicas))
        replicas[p].add(i)
        where[i] = p
        ends[i] = (life if fresh else residual)(A, g, rng)
        push(ends[i], 'end', i, 0)
    for t in readings:
        push(t + 1e-9, 'read')
    token, refused, connects, rows = {}, 0, 0, []
    while queue:
        t, _, what, *a = heapq.heappop(queue)
        if what == 'read':
            c = [len(s) for s in replicas.values()]
            rows.append(spread(c) + (sum(c), connects))
            connects = 0
            if len(rows) == len(readings):
                return rows, refused
        elif what == 'ready':
            for _ in range(a[0]):
                replicas[born] = set()
                born += 1
        elif what == 'leave':
            for p in sorted(replicas)[:a[0]]:
                for i in replicas.pop(p):
                    del where[i]
                    gen[i] += 1
                    noticed = t + rng.uniform(a[1], a[2])
                    if a[3]:
                        noticed = min(noticed, ends[i])
                    push(noticed + rng.uniform(0, gap), 'try', i, 0)
        elif what == 'end':
            i, g0 = a
            if gen[i] != g0:
                continue
            replicas[where.pop(i)].discard(i)
            push(t + rng.uniform(0, gap), 'try', i, 0)
        elif what == 'try':
            i, attempt = a
            p = rng.choice(list(replicas)) if replicas else None
            start = max(token.get(p, 0), t)
            if p is None or limit and start - t > 1:
                refused += p is not None
                push(t + rng.uniform(0, min(cap, base * 2 ** attempt)), 'try', i, attempt + 1)
                continue
            if limit:
                token[p] = start + 1 / limit
            accepted[i] = t
            push(start, 'admitted', i, p)
        elif what == 'admitted':
            i, p = a
            if p not in replicas:
                push(t + rng.uniform(0, gap), 'try', i, 0)
                continue
            replicas[p].add(i)
            where[i] = p
            gen[i] += 1
            connects += 1
            # The age runs from the acceptance of the connection, not from the admission.
            ends[i] = accepted[i] + life(A, g, rng)
            push(ends[i], 'end', i, gen[i])


def steps(until, every):
    return [i * every for i in range(int(until / every) + 1)]


spaced = lambda a, b, n: [(a + (b - a) * i / (n - 1), 'ready', 1) for i in range(n)]

# name: A, g, N, k, events, readings, request limit, all started together, runs
CASES = {
    'steady-8x400': (60, 11, 400, 8, [], steps(160, 10), None, False, 150),
    'scale-out-3-to-6': (60, 11, 300, 3, [(0, 'ready', 3)], [0, 15, 30, 45, 54, 60, 65, 70, 77, 85], None, False, 150),
    'scale-out-closing-on-goaway': (60, 0, 300, 3, [(0, 'ready', 3)], [0, 15, 30, 45, 54, 60, 66, 77], None, False, 150),
    'scale-out-together': (60, 11, 300, 3, [(0, 'ready', 3)], [0, 30, 60, 65, 67, 70, 73, 77, 100], None, True, 150),
    'mass-loss-limit-20': (60, 11, 400, 8, [(0, 'leave', 6, 0, 0, False), (15, 'ready', 6)], [5, 16, 30, 45, 60, 65, 70, 77, 80, 85, 140, 150], 20, False, 150),
    'mass-loss-limit-3': (60, 11, 400, 8, [(0, 'leave', 6, 0, 0, False), (15, 'ready', 6)], [5, 16, 20, 30, 45, 60, 70, 77, 85], 3, False, 150),
    'mass-loss-no-limit': (60, 11, 400, 8, [(0, 'leave', 6, 0, 0, False)] + spaced(17.0, 17.8, 6), [5, 16, 18, 25, 30, 45, 60, 65, 70, 75, 77, 80, 85, 90], None, False, 150),
    'drained-for-10s': (60, 11, 400, 8, [(0, 'leave', 4, 10, 10, True), (5, 'ready', 4)], [1, 9, 11, 30, 60, 75, 81, 90], 20, False, 150),
    'silent-for-40s': (60, 11, 400, 8, [(0, 'leave', 4, 30, 40, False), (15, 'ready', 4)], [1, 29, 35, 41, 60, 90, 100, 105, 115], 20, False, 150),
    'all-gone': (60, 11, 200, 4, [(0, 'leave', 4, 0, 0, False), (10, 'ready', 1), (12, 'ready', 3)], [5, 11, 13, 30, 60, 90], 20, False, 150),
    'incident-15m': (900, 11, 862, 24, [(0, 'leave', 20, 0, 0, False), (20, 'ready', 20)], steps(1200, 60), 20, False, 100),
    'incident-60s': (60, 11, 862, 24, [(0, 'leave', 20, 0, 0, False)] + spaced(26.6, 30.1, 20), [4, 6, 8, 10, 20, 28, 32, 40, 50, 60, 65, 67, 69, 71, 76, 80, 84, 87, 91], 20, False, 100),
}

if __name__ == '__main__':
    print('# Written by reference.py. Mean and standard deviation over the runs, seeds 1 to runs.')
    print('\t'.join(['# case', 'runs', 't'] + [m + s for m in ('cov', 'max/mean', 'connected', 'connects') for s in ('', ' sd')]))
    for name, (A, g, N, k, events, readings, limit, fresh, runs) in CASES.items():
        paths, refused = zip(*[run(s, A, g, N, k, events, readings, limit, fresh) for s in range(1, runs + 1)])
        for j, t in enumerate(readings):
            row = []
            for column in range(4):
                values = [p[j][column] for p in paths]
                row += ['%.5g' % statistics.mean(values), '%.4g' % statistics.stdev(values)]
            print('\t'.join([name, str(runs), str(t)] + row))
        print('\t'.join([name, str(runs), 'refusals', '%.5g' % statistics.mean(refused), '%.4g' % (statistics.stdev(refused))]))
