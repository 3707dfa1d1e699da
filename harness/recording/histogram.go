package recording

import "math/bits"

// The buckets of Traffic.Latency are those of an HDR histogram of microseconds
// with two significant digits: HdrHistogram has 2^8 sub-buckets for them, the
// least power of two that is 200 or more, so each value below 256 has a bucket
// of its own, and from there on every power of two is cut into 128 of equal width.
// A bucket is at most 1/128 of its lowest value wide.
const (
	subBucketBits = 8
	halfBuckets   = 1 << (subBucketBits - 1)
)

// BucketIndex numbers the buckets, from 0 on in the order of their values. What
// is below 0 is taken for 0.
func BucketIndex(us int64) int {
	v := uint64(max(us, 0))
	shift := max(0, bits.Len64(v)-subBucketBits)
	return halfBuckets*shift + int(v>>shift)
}

// BucketAt is the lowest value of the bucket of an index, and its width: it holds
// low to low + width - 1, in microseconds.
func BucketAt(index int) (low, width int64) {
	if index < 2*halfBuckets {
		return int64(max(index, 0)), 1
	}
	shift := index/halfBuckets - 1
	return int64(index-halfBuckets*shift) << shift, 1 << shift
}

// BucketOf is the lowest value of the bucket that holds a latency: what a
// recording lists it by.
func BucketOf(us int64) int64 {
	low, _ := BucketAt(BucketIndex(us))
	return low
}
