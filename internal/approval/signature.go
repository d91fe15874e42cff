// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Header fields of RFC 9421, HTTP Message Signatures.
const (
	inputHeader     = "Signature-Input"
	signatureHeader = "Signature"
)

const (
	// signatureTag separates these signatures from others made with the same key.
	signatureTag = "espalier"
	// signatureWindow is the maximum difference between the clocks of caller and server, and the maximum age of a call.
	signatureWindow = 5 * time.Minute
	// maxSignatureInput bounds the work on unauthenticated input.
	maxSignatureInput = 1024
)

var (
	signatureLabel = regexp.MustCompile(`^[a-z*][a-z0-9_.*-]{0,63}$`)
	// signatureNonce has room for at least 128 bits, in hex, base64 or as a UUID.
	signatureNonce = regexp.MustCompile(`^[A-Za-z0-9+/_=.-]{22,128}$`)
	quotedText     = regexp.MustCompile(`^"([ !#-\[\]-~]*)"$`)
)

// signature is the content of the two header fields: the profile of RFC 9421 that docs/approvals.md describes. It covers the method and the
// path, and with the parameters the time and the nonce.
type signature struct {
	// input is the text of the covered components and parameters; it is signed unchanged.
	input      string
	components []string
	created    time.Time
	expires    time.Time // zero if there is none
	nonce      string
	keyID      string
	mac        []byte
}

// parseSignature accepts exactly one signature, in the canonical serialisation of RFC 9421. The header fields therefore have only one
// interpretation.
func parseSignature(header http.Header) (*signature, error) {
	input, signed := header.Values(inputHeader), header.Values(signatureHeader)
	if len(input) != 1 || len(signed) != 1 || len(input[0])+len(signed[0]) > maxSignatureInput {
		return nil, fmt.Errorf("there must be one %s and one %s", inputHeader, signatureHeader)
	}
	label, text, _ := strings.Cut(input[0], "=")
	signedLabel, value, _ := strings.Cut(signed[0], "=")
	if !signatureLabel.MatchString(label) || label != signedLabel {
		return nil, errors.New("the two header fields have different or malformed labels")
	}
	s := &signature{input: text}
	var err error
	if s.mac, err = parseBytes(value); err != nil {
		return nil, err
	}
	components, parameters, _ := strings.Cut(text, ";")
	if err := s.parseComponents(components); err != nil {
		return nil, err
	}
	return s, s.parseParameters(parameters)
}

func parseBytes(text string) ([]byte, error) {
	inner, opened := strings.CutPrefix(text, ":")
	inner, closed := strings.CutSuffix(inner, ":")
	mac, err := base64.StdEncoding.Strict().DecodeString(inner)
	if !opened || !closed || err != nil || len(mac) != sha256.Size {
		return nil, fmt.Errorf("%s is not a MAC of %d bytes in base64 between colons", signatureHeader, sha256.Size)
	}
	return mac, nil
}

func (s *signature) parseComponents(text string) error {
	inner, opened := strings.CutPrefix(text, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	s.components = strings.Split(inner, " ")
	covered := slices.Sorted(slices.Values(s.components))
	if !opened || !closed || !slices.Equal(covered, []string{`"@method"`, `"@path"`}) {
		return errors.New(`the signature must cover "@method" and "@path", and nothing else`)
	}
	return nil
}

func (s *signature) parseParameters(text string) error {
	seen := map[string]bool{}
	for parameter := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if seen[name] {
			return fmt.Errorf("the parameter %q occurs twice", name)
		}
		seen[name] = true
		if err := s.parseParameter(name, value); err != nil {
			return err
		}
	}
	for _, name := range []string{"created", "nonce", "tag"} {
		if !seen[name] {
			return fmt.Errorf("the parameter %s is missing", name)
		}
	}
	return nil
}

func (s *signature) parseParameter(name, value string) (err error) {
	switch name {
	case "created":
		s.created, err = parseTime(value)
		return err
	case "expires":
		s.expires, err = parseTime(value)
		return err
	}
	match := quotedText.FindStringSubmatch(value)
	if match == nil {
		return fmt.Errorf("the parameter %q is unknown or not quoted", name)
	}
	switch text := match[1]; name {
	case "nonce":
		if s.nonce = text; !signatureNonce.MatchString(text) {
			return errors.New("the nonce must have 22 to 128 letters and digits")
		}
	case "keyid":
		s.keyID = text
	case "alg":
		if text != "hmac-sha256" {
			return errors.New("the only algorithm is hmac-sha256")
		}
	case "tag":
		if text != signatureTag {
			return fmt.Errorf("the tag must be %q", signatureTag)
		}
	default:
		return fmt.Errorf("the parameter %q is unknown", name)
	}
	return nil
}

// parseTime parses seconds since 1970, in canonical form only.
func parseTime(text string) (time.Time, error) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || seconds > 1<<40 || strconv.FormatInt(seconds, 10) != text {
		return time.Time{}, errors.New("a time must be given in seconds since 1970")
	}
	return time.Unix(seconds, 0), nil
}

// checkTime rejects a signature that is too old or, because of clock skew, too far in the future.
func (s *signature) checkTime(now time.Time) error {
	if age := now.Sub(s.created); age > signatureWindow || age < -signatureWindow {
		return fmt.Errorf("the signature was made at %s, more than %s from now", s.created.UTC().Format(time.RFC3339), signatureWindow)
	}
	if !s.expires.IsZero() && !now.Before(s.expires) {
		return fmt.Errorf("the signature has expired at %s", s.expires.UTC().Format(time.RFC3339))
	}
	return nil
}

// base returns the signed text: one line per component, and one for the parameters.
func (s *signature) base(method, path string) string {
	values := map[string]string{`"@method"`: method, `"@path"`: path}
	var text strings.Builder
	for _, component := range s.components {
		text.WriteString(component + ": " + values[component] + "\n")
	}
	text.WriteString(`"@signature-params": ` + s.input)
	return text.String()
}

// madeWith reports, in constant time, whether the signature was made with the key for this method and path.
func (s *signature) madeWith(key []byte, method, path string) bool {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(s.base(method, path)))
	return hmac.Equal(mac.Sum(nil), s.mac)
}
