package driver

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ReadSource reads a role's source from the plan, as written by the compiler's half of its
// driver. An unknown key is an error: it was compiled by another version.
func ReadSource[T any](text json.RawMessage) (T, error) {
	var source T
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&source); err != nil {
		var none T
		return none, fmt.Errorf("read the role's source in the plan: %w", err)
	}
	return source, nil
}
