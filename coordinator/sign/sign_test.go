package sign

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const secret = "6f1c0b9e4d2a7385c4be91d07a36f8e25b0d9c8171e4a6f3902c5d8b7e6f1a43"

var place = Place{Kind: "cell", Stack: "blog", Deployment: "d1", Server: "db", Item: "db.mysql:url"}

func key(t *testing.T, use string) Key {
	t.Helper()
	k, err := DeriveKey(secret, use)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// What one release has written another one must read: this must never change. The answers
// were computed by another implementation, too (Python's cryptography).
func TestKnownAnswers(t *testing.T) {
	k := key(t, "hotc test signature 1")
	signed, err := k.Sign(place, 7, []byte(`{"state":"value","value":"<é>"}`))
	if err != nil {
		t.Fatal(err)
	}
	mac, err := Derive(secret, "hotc test mac 1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, is, want string }{
		{"public key", string(k.Public()), "fxJNcyRDFBd2HhRZzdpqXv9+gba/5V+gOd6z+8I0tbM"},
		{"signed record", string(signed), `{"signed":{"counter":7,"signature":"wI6GQT/+CvgH7o3GhgNvAe1SXuIu7fdq1F4gH67BXhbm3GC8UPX35KG5uud7iVb/radh1nA/Y62CZW+pYPhwCg=="},"state":"value","value":"<é>"}`},
		{"MAC", MAC(mac, []byte("text")), "cf18146b0654d8aaaf2d11ebfb7c6f71c3207f172927a7871fd3fad02f08f535"},
	} {
		if c.is != c.want {
			t.Errorf("%s: %s\n  want %s", c.what, c.is, c.want)
		}
	}
}

func TestOpen(t *testing.T) {
	k := key(t, "a")
	for _, record := range []string{`{}`, `{"a":1}`, `{"signed":{"counter":9,"signature":""},"a":"}"}`} {
		signed, err := k.Sign(place, 3, []byte(record))
		if err != nil {
			t.Fatal(err)
		}
		got, counter, err := k.Public().Open(place, signed)
		if err != nil || counter != 3 || string(got) != record {
			t.Errorf("%s: %s, %d, %v", record, got, counter, err)
		}
		if string(Bare(signed)) != record {
			t.Errorf("%s: bare it is %s", record, Bare(signed))
		}
	}
	if _, err := k.Sign(place, 0, []byte(`[]`)); err == nil {
		t.Error("a list was signed")
	}
}

// Whatever is changed of a record, of its counter or its place, it does not open.
func TestForged(t *testing.T) {
	k := key(t, "a")
	signed, err := k.Sign(place, 3, []byte(`{"a":1,"b":{"c":"d"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for i := range signed {
		for _, bit := range []byte{1, 2, 4, 8, 16, 32, 64, 128} {
			text := append([]byte(nil), signed...)
			text[i] ^= bit
			if got, counter, err := k.Public().Open(place, text); err == nil {
				t.Errorf("byte %d as %q opens: %s, %d", i, text[i], got, counter)
			}
		}
		if _, _, err := k.Public().Open(place, signed[:i]); err == nil {
			t.Errorf("the first %d bytes open", i)
		}
	}
	open := func(what string, by Public, p Place, text string, want error) {
		t.Helper()
		if _, _, err := by.Open(p, []byte(text)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	text := string(signed)
	for _, p := range []Place{
		{"public", place.Stack, place.Deployment, place.Server, place.Item},
		{place.Kind, "shop", place.Deployment, place.Server, place.Item},
		{place.Kind, place.Stack, "d2", place.Server, place.Item},
		{place.Kind, place.Stack, place.Deployment, "web", place.Item},
		{place.Kind, place.Stack, place.Deployment, place.Server, "db.mysql"},
		{place.Kind, place.Stack + "\"\n\"" + place.Deployment, "", place.Server, place.Item},
	} {
		open(fmt.Sprint(p), k.Public(), p, text, ErrForged)
	}
	open("another key", key(t, "b").Public(), place, text, ErrForged)
	open("no key", "", place, text, ErrForged)
	open("another counter", k.Public(), place, strings.Replace(text, `"counter":3`, `"counter":4`, 1), ErrForged)
	open("nothing signed", k.Public(), place, `{"a":1}`, ErrNotSigned)
	open("signed later", k.Public(), place, `{"a":1,`+text[1:], ErrNotSigned)
	open("nothing", k.Public(), place, "", ErrNotSigned)
}

func TestNothingPrintsTheKey(t *testing.T) {
	k := key(t, "a")
	if text := fmt.Sprintf("%v %s %#v %+v", k, k, k, struct{ K Key }{k}); strings.Contains(text, "[") || strings.Contains(text, "0x") {
		t.Error(text)
	}
}

func BenchmarkSign(b *testing.B) {
	k, err := DeriveKey(secret, "a")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := k.Sign(place, 1, []byte(`{"state":"value","incarnation":1,"value":"mysql://10.0.0.5/blog"}`)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	k, err := DeriveKey(secret, "a")
	if err != nil {
		b.Fatal(err)
	}
	signed, err := k.Sign(place, 1, []byte(`{"state":"value","incarnation":1,"value":"mysql://10.0.0.5/blog"}`))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := k.Public().Open(place, signed); err != nil {
			b.Fatal(err)
		}
	}
}

// Only the MAC of this text under this key is right.
func TestMAC(t *testing.T) {
	key, text := []byte("key"), []byte("text")
	mac := MAC(key, text)
	if !CheckMAC(key, text, mac) {
		t.Error("the right one is refused")
	}
	if CheckMAC([]byte("other"), text, mac) || CheckMAC(key, []byte("other"), mac) || CheckMAC(key, text, "") {
		t.Error("a wrong one is taken")
	}
}
