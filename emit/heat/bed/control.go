package bed

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
)

// request is a line from Heat's Nova (emit/heat/heattest/python/hypervisor.py) or from another
// process in the bed (Ask).
type request struct {
	Action string `json:"action"`
	order         // of Nova's boot; otherwise ID is the server's, or its name
}

// Answer is the result of a request.
type Answer struct {
	Error string `json:"error,omitempty"`
	Text  string `json:"text,omitempty"`
	// PID is the id of the server's first process.
	PID int `json:"pid,omitempty"`
}

// actions are the requests for a server, except its boot.
func (b *Bed) actions() map[string]func(*Server) error {
	return map[string]func(*Server) error{
		"delete": b.delete, "suspend": (*Server).Pause, "resume": (*Server).Resume, "reboot": (*Server).Reboot,
		"off": (*Server).Off, "on": (*Server).On, "cut": (*Server).Cut, "restore": (*Server).Restore, "wipe": b.wipe, "move": b.move,
	}
}

// listen serves requests.
func (b *Bed) listen() error {
	l, err := net.Listen("unix", socketFile)
	if err != nil {
		return fmt.Errorf("listen for Nova: %w", err)
	}
	b.listener = l
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go b.answer(conn)
		}
	}()
	return nil
}

// answer serves one request.
func (b *Bed) answer(conn net.Conn) {
	defer conn.Close()
	var r request
	var a Answer
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err == nil {
		a, err = b.do(r)
	}
	if err != nil {
		a.Error = err.Error()
	}
	_ = json.NewEncoder(conn).Encode(a)
}

func (b *Bed) do(r request) (Answer, error) {
	switch r.Action {
	case "boot":
		_, err := b.boot(r.order)
		return Answer{}, err
	case "servers":
		return Answer{Text: b.list()}, nil
	}
	s, err := b.Server(r.ID)
	if err != nil {
		return Answer{}, err
	}
	switch r.Action {
	case "logs":
		return Answer{Text: s.Logs()}, nil
	case "first":
		pid, err := s.first()
		return Answer{PID: pid}, err
	case "rebuild", "evacuate": // by hand: Nova has to know, which then asks for wipe or move
		return Answer{}, b.Oracle.Relaunch(s.ID, r.Action)
	}
	act, known := b.actions()[r.Action]
	if !known {
		return Answer{}, fmt.Errorf("no server can %q", r.Action)
	}
	return Answer{}, act(s)
}

// list is a line for each server.
func (b *Bed) list() string {
	var text strings.Builder
	for _, s := range b.Servers() {
		state := "boots"
		switch _, err := s.first(); {
		case err != nil:
			state = "off"
		case s.Booted():
			state = "up"
		}
		fmt.Fprintf(&text, "%-32s %-15s %-5s boot %d\n", s.Name, s.Address, state, s.Boots())
	}
	return text.String()
}

// Ask sends a request to the bed that this process runs in: one of delete, suspend, resume, reboot,
// off, on, cut, restore, rebuild, evacuate, logs, first for a server; servers for all of them.
func Ask(action, server string) (Answer, error) {
	var a Answer
	conn, err := net.Dial("unix", socketFile)
	if err != nil {
		return a, errors.New("this is not in a bed: start one with hotc-bed")
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(request{Action: action, order: order{ID: server}}); err != nil {
		return a, err
	}
	if err := json.NewDecoder(conn).Decode(&a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// InServer is the command, with its environment, that runs args in a server of the bed that this
// process runs in.
func InServer(server string, args []string) (command, variables []string, err error) {
	a, err := Ask("first", server)
	if err != nil {
		return nil, nil, err
	}
	return enterCommand(a.PID, args), environment, nil
}
