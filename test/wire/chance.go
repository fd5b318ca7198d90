package wire

import (
	"encoding/binary"
	oldrand "math/rand"
	"math/rand/v2"

	"github.com/google/uuid"
)

// seedLibraries has libraries of a command draw the same numbers for the same seed. client-go draws the lengths
// of its pauses, and another library draws UUIDs. For client-go the binary needs the setting randseednop=0.
func seedLibraries(seed uint64) {
	oldrand.Seed(int64(seed)) //nolint:staticcheck // client-go draws from the source of the process
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	uuid.SetRand(rand.NewChaCha8(key))
}
