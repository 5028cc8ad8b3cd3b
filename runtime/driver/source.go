package driver

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ReadSource reads a role's source as the compiler's half of its driver wrote it into
// the plan. A key that the agent does not know is an error: it was compiled by another
// version.
func ReadSource[T any](text json.RawMessage) (T, error) {
	var source T
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&source); err != nil {
		var none T
		return none, fmt.Errorf("the role's source in the plan cannot be read: %w", err)
	}
	return source, nil
}
