//go:build !race

package racetest

const detector = false
