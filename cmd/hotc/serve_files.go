package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
)

func newServeFilesCommand(io streams) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "serve-files DIR",
		Short: "Serve a folder's files over HTTP, for a lab",
		Long: `Serve a folder's files over HTTP until interrupted: agents for --agent-url, or files that
are too large for the coordinator. There is no authentication, and no directory listings or
hidden files are served; servers verify what they download by its digest. Outside a lab,
use a web server of your own.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return serveFiles(cmd.Context(), io, args[0], listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", ":8080", "`ADDRESS` to listen on")
	return cmd
}

func serveFiles(ctx context.Context, s streams, dir, address string) error {
	root, err := os.OpenRoot(dir) // follows no link out of it
	if err != nil {
		return source.Fail(source.CannotRead, err.Error(), "serve-files takes a folder")
	}
	defer root.Close()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return source.Fail(source.OperationFailed, err.Error(), "--listen takes HOST:PORT, or :PORT")
	}
	fmt.Fprintf(s.out, "%s is served at http://%s/ until Ctrl-C.\n", dir, l.Addr())
	files := http.FileServerFS(root.FS())
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		info, err := root.Stat(name)
		hidden := name == "" || strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
		fmt.Fprintf(s.out, "%s %s %s\n", time.Now().Format(time.TimeOnly), r.RemoteAddr, terminal.Line(r.Method+" "+r.URL.Path))
		if hidden || err != nil || !info.Mode().IsRegular() {
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	})}
	ended := make(chan error, 1)
	mistake.Go(func() { ended <- server.Serve(l) })
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = server.Close()
		<-ended
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return source.Fail(source.OperationFailed, err.Error(), "")
	}
	return nil
}
