// Package image makes container images from files, without a container engine.
// The same files make the same digests: times are fixed, entries are sorted, and
// layers are not compressed, since nothing of ours crosses a network and every
// node would have to unpack them again.
package image
