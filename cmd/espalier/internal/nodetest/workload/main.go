// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command workload is the program in the containers of tests.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	works := map[string]func(args []string) error{"serve": serve, "fetch": fetch, "token": token, "fail": fail}
	if len(os.Args) < 2 || works[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "workload: serve [MESSAGE], fetch URL, token or fail [MESSAGE]")
		os.Exit(2)
	}
	if err := works[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(1)
	}
}

// serve answers on port 8080.
func serve(args []string) error {
	fmt.Println("serving", args)
	return http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, args) }))
}

// fetch retries until there is an answer.
func fetch(args []string) error {
	for range time.Tick(100 * time.Millisecond) {
		err := get(http.DefaultClient, args[0], "")
		if err == nil {
			return nil
		}
		fmt.Println(err)
	}
	return nil
}

// token asks the API server for its version, as a pod does.
func token([]string) error {
	const folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
	authority, err := os.ReadFile(folder + "ca.crt")
	if err != nil {
		return err
	}
	own, err := os.ReadFile(folder + "token")
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return errors.New("the certificate of the authority cannot be read")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	return get(client, "https://kubernetes.default.svc/version", string(own))
}

func get(client *http.Client, url, bearer string) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	fmt.Println(response.Status, string(body))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

func fail(args []string) error { return fmt.Errorf("as told: %v", args) }
