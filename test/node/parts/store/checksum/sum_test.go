package checksum

import "testing"

func sum(pairs ...[2]string) Sum {
	var s Sum
	for _, p := range pairs {
		s.Add([]byte(p[0]), []byte(p[1]))
	}
	return s
}

func TestSum(t *testing.T) {
	both := sum([2]string{"k1", "v1"}, [2]string{"k2", "value"})
	if both.Pairs != 2 || both.Bytes != 11 {
		t.Errorf("got %+v", both)
	}
	if other := sum([2]string{"k2", "value"}, [2]string{"k1", "v1"}); other != both {
		t.Errorf("another order gives %+v, not %+v", other, both)
	}
	// The sum of the same bytes, which is CRC-64 of ECMA, is in the catalogue of such sums.
	if known := sum([2]string{"1234", "56789"}); known.XOR != 0x995dc9bbdf1939fa {
		t.Errorf("got %x", known.XOR)
	}
	if changed := sum([2]string{"k1", "v2"}, [2]string{"k2", "value"}); changed.XOR == both.XOR {
		t.Error("another value gives the same sum")
	}
}

func TestScanGivesKeysTheOldPrefix(t *testing.T) {
	restored := &scan{from: []byte("new"), to: []byte("former")}
	if err := restored.Process([]byte("new-key"), []byte("v")); err != nil {
		t.Fatal(err)
	}
	if want := sum([2]string{"former-key", "v"}); restored.sum != want {
		t.Errorf("got %+v, want %+v", restored.sum, want)
	}
	if err := restored.Process([]byte("other-key"), nil); err == nil {
		t.Error("a key of another table is counted")
	}
}
