package recording_test

import (
	"testing"

	"pgregory.net/rapid"

	"reckon.dev/reckon/harness/recording"
)

func TestBucketsAreThoseOfAnHDRHistogramOfTwoDigits(t *testing.T) {
	t.Parallel()
	for us, want := range map[int64]int64{
		-5: 0, 0: 0, 1: 1, 255: 255, 256: 256, 257: 256, 258: 258, 511: 510, 512: 512, 515: 512, 1023: 1020, 1024: 1024, 1031: 1024, 1_000_000: 999_424,
	} {
		if got := recording.BucketOf(us); got != want {
			t.Errorf("%d µs lie in the bucket from %d on, want %d", us, got, want)
		}
	}
}

func TestBucketsCoverEveryValueOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		us := rapid.Int64Range(0, 1<<62).Draw(rt, "us")
		index := recording.BucketIndex(us)
		low, width := recording.BucketAt(index)
		if us < low || us-low >= width {
			rt.Fatalf("%d is in bucket %d, which is %d and %d wide", us, index, low, width)
		}
		if width > 1 && width*128 > low {
			rt.Fatalf("bucket %d from %d on is %d wide: more than 1/128", index, low, width)
		}
		if next, _ := recording.BucketAt(index + 1); next != low+width {
			rt.Fatalf("bucket %d ends at %d, the next begins at %d", index, low+width, next)
		}
		if recording.BucketIndex(low) != index || recording.BucketIndex(low+width-1) != index {
			rt.Fatalf("the ends of bucket %d are in others", index)
		}
	})
}
