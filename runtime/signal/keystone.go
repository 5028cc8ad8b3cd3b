package signal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"io"
	"strings"
)

// The parts of Keystone's version 3 that a signal needs.
type (
	domain struct {
		ID string `json:"id"`
	}
	user struct {
		ID       string  `json:"id,omitempty"`
		Name     string  `json:"name,omitempty"`
		Domain   *domain `json:"domain,omitempty"`
		Password string  `json:"password"`
	}
	service struct {
		Type      string `json:"type"`
		Endpoints []struct {
			URL       string `json:"url"`
			Interface string `json:"interface"`
			Region    string `json:"region"`
			RegionID  string `json:"region_id"`
		} `json:"endpoints"`
	}
)

// maxCatalogue bounds Keystone's answer.
const maxCatalogue = 16 << 20

// authenticate gets a token, and Heat's endpoint from the catalogue.
func (c *Client) authenticate(ctx context.Context) error {
	var request struct {
		Auth struct {
			Identity struct {
				Methods  []string `json:"methods"`
				Password struct {
					User user `json:"user"`
				} `json:"password"`
			} `json:"identity"`
			Scope struct {
				Project domain `json:"project"`
			} `json:"scope"`
		} `json:"auth"`
	}
	request.Auth.Identity.Methods = []string{"password"}
	request.Auth.Identity.Password.User = c.handle.user
	request.Auth.Scope.Project.ID = c.handle.project
	body, err := protocol.Encode(request)
	if err != nil {
		return err
	}
	response, err := c.do(ctx, c.handle.authURL+"/auth/tokens", body, "")
	if err != nil {
		return err
	}
	defer finish(response)
	var answer struct {
		Token struct {
			Catalog []service `json:"catalog"`
		} `json:"token"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxCatalogue)).Decode(&answer); err != nil {
		return fmt.Errorf("read Keystone's answer: %w", err)
	}
	token := response.Header.Get("X-Subject-Token")
	if token == "" {
		return errors.New("Keystone's answer has no token")
	}
	endpoint, err := c.handle.heat(answer.Token.Catalog)
	if err != nil {
		return err
	}
	c.token, c.endpoint = token, endpoint
	return nil
}

// heat is the public endpoint of Heat in the handle's region.
func (h Handle) heat(catalogue []service) (string, error) {
	var others []string
	for _, s := range catalogue {
		if s.Type != "orchestration" {
			continue
		}
		for _, e := range s.Endpoints {
			if e.Interface != "public" {
				continue
			}
			if h.region == "" || e.Region == h.region || e.RegionID == h.region {
				return strings.TrimRight(e.URL, "/"), nil
			}
			others = append(others, e.Region)
		}
	}
	if others != nil {
		return "", fmt.Errorf("Keystone's catalogue has Heat in %s, but not in region %s", strings.Join(others, ", "), h.region)
	}
	return "", errors.New("Keystone's catalogue has no public endpoint of Heat (orchestration)")
}
