package socket

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"io"
	"net"
	"unicode/utf8"
)

// Get reads an input at a role's socket. It blocks until the value is there.
func Get(ctx context.Context, path, name string) (json.RawMessage, error) {
	a, err := ask(ctx, path, request{Get: &name})
	return a.Value, err
}

// PutText publishes an output from a text as the tool printed it.
func PutText(ctx context.Context, path, name string, text []byte) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("output %s: the value is not UTF-8; encode binary data, for example with base64", name)
	}
	s := string(text)
	_, err := ask(ctx, path, request{Put: &name, Text: &s})
	return err
}

// PutJSON publishes an output from a JSON value.
func PutJSON(ctx context.Context, path, name string, value []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return fmt.Errorf("output %s: the value is not JSON: %w", name, err)
	}
	_, err := ask(ctx, path, request{Put: &name, Value: compact.Bytes()})
	return err
}

// AwaitEnd returns when the role's agent no longer serves its values.
func AwaitEnd(ctx context.Context, path string) {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return
	}
	defer connection.Close()
	stop := context.AfterFunc(ctx, func() { connection.Close() })
	defer stop()
	_, _ = connection.Read(make([]byte, 1)) // there is nothing to read
}

func ask(ctx context.Context, path string, r request) (answer, error) {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return answer{}, fmt.Errorf("connect to the agent: %w", err)
	}
	defer connection.Close()
	stop := context.AfterFunc(ctx, func() { connection.Close() })
	defer stop()
	text, err := protocol.Encode(r)
	if err != nil {
		return answer{}, err
	}
	if _, err := connection.Write(append(text, '\n')); err != nil {
		return answer{}, fmt.Errorf("ask the agent: %w", err)
	}
	line, err := bufio.NewReader(connection).ReadBytes('\n')
	if ctx.Err() != nil {
		return answer{}, context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) {
		return answer{}, errors.New("the agent closed the connection: the role is being ended")
	}
	if err != nil {
		return answer{}, fmt.Errorf("ask the agent: %w", err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return answer{}, fmt.Errorf("the agent's answer is not JSON: %w", err)
	}
	if a.Error != "" {
		return answer{}, errors.New(a.Error)
	}
	return a, nil
}
