package plan

import (
	"slices"

	"reckon.dev/reckon/harness/cluster"
)

// Serves says whether the cluster that came up for c has what another cell needs:
// the same cluster, with the components that it has at their versions. More do not
// disturb it where components are pods.
func (c Cell) Serves(other Cell) bool {
	if !c.SharesCluster || !other.SharesCluster || c.Provider != other.Provider || c.NodeImage != other.NodeImage || c.Nodes != other.Nodes {
		return false
	}
	for component, version := range other.Versions {
		if c.Versions[component] != version {
			return false
		}
	}
	return len(c.Versions) == len(other.Versions) || cluster.Offered(c.Provider).Has(cluster.Kubelet)
}

// ByCluster puts next to each cell the later ones that its cluster serves, so that
// one cluster after the other has its last run. Within that the order stays.
func ByCluster(cells []Cell) []Cell {
	rest := slices.Clone(cells)
	out := make([]Cell, 0, len(cells))
	for len(rest) > 0 {
		first := rest[0]
		out, rest = append(out, first), rest[1:]
		rest = slices.DeleteFunc(rest, func(c Cell) bool {
			served := first.Serves(c)
			if served {
				out = append(out, c)
			}
			return served
		})
	}
	return out
}
