// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"espalier.dev/internal/component/credentials"
)

// credentials reads the file that the user names, or the one that docker login writes. Helpers says that the latter leaves credentials
// to other programs, which are not asked here.
func (a *Access) credentials() (config credentials.Config, helpers bool, err error) {
	file := a.config
	if file == "" {
		file = a.dockerConfig()
	}
	if file == "" {
		return config, false, nil
	}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && a.config == "":
		return config, false, nil
	case err != nil && a.config != "":
		return config, false, fmt.Errorf("--registry-config: %w", err)
	case err != nil:
		return config, false, fmt.Errorf("read the credentials of docker, or name others with --registry-config: %w", err)
	}
	if config, err = parse(text); err != nil {
		return config, false, fmt.Errorf("credentials in %s: %w", file, err)
	}
	return config, leavesToHelpers(text), nil
}

// dockerConfig is where docker keeps the configuration of the user; empty if there is no such place.
func (a *Access) dockerConfig() string {
	if directory := a.env.Getenv("DOCKER_CONFIG"); directory != "" {
		return filepath.Join(directory, "config.json")
	}
	if home := a.env.Getenv("HOME"); home != "" {
		return filepath.Join(home, ".docker", "config.json")
	}
	return ""
}

// parse tells a docker configuration from one of OCM: the latter has a type.
func parse(text []byte) (credentials.Config, error) {
	if credentials.IsConfig(text) {
		return credentials.ParseConfig(text)
	}
	set, err := credentials.ParseDockerConfig(text)
	return credentials.Config{Credentials: set}, err
}

func leavesToHelpers(text []byte) bool {
	var config struct {
		Store   string            `json:"credsStore"`
		Helpers map[string]string `json:"credHelpers"`
	}
	return json.Unmarshal(text, &config) == nil && (config.Store != "" || len(config.Helpers) > 0)
}
