//go:build race

package racetest

const detector = true
