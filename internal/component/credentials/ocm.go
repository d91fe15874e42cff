// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Types of documents, without their versions.
const (
	typeGeneric     = "generic.config.ocm.software"
	typeCredentials = "credentials.config.ocm.software"
	typeOCM         = "ocm.config.ocm.software"
)

// defaultPriority is the priority of a resolver without one.
const defaultPriority = 10

// Config is the relevant part of an OCM configuration.
type Config struct {
	Credentials Set
	// Resolvers are the repositories in which to look up components, in order.
	Resolvers []Resolver
	// Ignored lists settings that have no effect here, for the user.
	Ignored []string
}

// Resolver maps components with certain names to a repository.
type Resolver struct {
	// Repository is a repository context as in components.
	Repository map[string]any
	// Prefix is the prefix of the names of components, in whole segments; empty for all.
	Prefix   string
	Priority int
}

// Serves reports whether a component of this name may be in the repository.
func (r Resolver) Serves(component string) bool { return withinPath(component, r.Prefix) }

// ParseCredentialConfig parses the value of .ocmcredentialconfig in a Secret. A document of another type has no effect, as in OCM, and is
// listed in Ignored.
func ParseCredentialConfig(data []byte) (Config, error) {
	object, err := readObject(data)
	if err != nil {
		return Config{}, fmt.Errorf("OCM credentials: %w", err)
	}
	var r reader
	document := fields{values: object}
	if kind := r.kind(document); kind != typeCredentials {
		r.ignore("the document is of type %s, but only %s has an effect here", quotedType(kind), typeCredentials)
		return r.config, nil
	}
	if err := r.credentials(document); err != nil {
		return Config{}, fmt.Errorf("OCM credentials: %w", err)
	}
	return r.config, nil
}

// IsConfig reports whether a document is an OCM configuration, which has a type.
func IsConfig(data []byte) bool {
	object, err := readObject(data)
	return err == nil && object["type"] != nil
}

// ParseConfig parses the value of .ocmconfig in a ConfigMap. An empty document is an empty configuration.
func ParseConfig(data []byte) (Config, error) {
	object, err := readObject(data)
	if err != nil {
		return Config{}, fmt.Errorf("OCM configuration: %w", err)
	}
	var r reader
	if len(object) == 0 {
		return Config{}, nil
	}
	if err := r.document(fields{values: object}, 0); err != nil {
		return Config{}, fmt.Errorf("OCM configuration: %w", err)
	}
	slices.SortStableFunc(r.config.Resolvers, func(a, b Resolver) int {
		if a.Priority != b.Priority {
			return b.Priority - a.Priority
		}
		return len(segments(b.Prefix)) - len(segments(a.Prefix))
	})
	return r.config, nil
}

// reader collects the content of documents.
type reader struct {
	config Config
}

func (r *reader) ignore(format string, args ...any) {
	r.config.Ignored = append(r.config.Ignored, fmt.Sprintf(format, args...))
}

// kind returns the type of a document without its version.
func (r *reader) kind(document fields) string {
	kind, _ := document.values["type"].(string)
	name, _, _ := strings.Cut(kind, "/")
	return name
}

func quotedType(kind string) string {
	if kind == "" {
		return "nothing"
	}
	const most = 80
	return strconv.Quote(kind[:min(len(kind), most)])
}

func (r *reader) document(document fields, depth int) error {
	switch kind := r.kind(document); kind {
	case typeGeneric:
		return r.generic(document, depth)
	case typeCredentials:
		return r.credentials(document)
	case typeOCM:
		return r.ocm(document)
	case "":
		return fmt.Errorf("%s: is required, for example %s/v1", document.at("type"), typeGeneric)
	default:
		r.ignore("%s: configurations of type %s have no effect here", document.at("type"), quotedType(kind))
		return nil
	}
}

func (r *reader) generic(document fields, depth int) error {
	const most = 4
	if depth == most {
		return fmt.Errorf("%s: generic configurations are nested deeper than %d", document.at("configurations"), most)
	}
	configurations, err := document.list("configurations")
	if err != nil {
		return err
	}
	for _, one := range configurations {
		if err := r.document(one, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) ocm(document fields) error {
	if document.values["aliases"] != nil {
		r.ignore("%s: aliases of repositories have no effect here: set the repository where it is used", document.at("aliases"))
	}
	resolvers, err := document.list("resolvers")
	if err != nil {
		return err
	}
	for _, one := range resolvers {
		resolver, err := newResolver(one)
		if err != nil {
			return err
		}
		r.config.Resolvers = append(r.config.Resolvers, resolver)
	}
	return nil
}

func newResolver(from fields) (Resolver, error) {
	repository, err := from.object("repository")
	if err != nil {
		return Resolver{}, err
	}
	if kind, _ := repository.values["type"].(string); kind == "" {
		return Resolver{}, fmt.Errorf("%s: is required, for example OCIRegistry", repository.at("type"))
	}
	result := Resolver{Repository: repository.values, Priority: defaultPriority}
	if result.Prefix, err = from.text("prefix"); err != nil {
		return Resolver{}, err
	}
	result.Prefix = strings.Trim(result.Prefix, "/")
	priority, err := from.text("priority")
	if err == nil && priority != "" {
		result.Priority, err = strconv.Atoi(priority)
	}
	if err != nil {
		return Resolver{}, fmt.Errorf("%s: must be a whole number", from.at("priority"))
	}
	return result, nil
}

func (r *reader) credentials(document fields) error {
	if document.values["aliases"] != nil {
		r.ignore("%s: aliases of credential repositories have no effect here", document.at("aliases"))
	}
	consumers, err := document.list("consumers")
	if err != nil {
		return err
	}
	for _, one := range consumers {
		if err := r.consumer(one); err != nil {
			return err
		}
	}
	repositories, err := document.list("repositories")
	if err != nil {
		return err
	}
	for _, one := range repositories {
		if err := r.repository(one); err != nil {
			return err
		}
	}
	return nil
}

// consumer reads one identity, or several, with their credentials. Of several credentials, the first that is given directly wins.
func (r *reader) consumer(from fields) error {
	identities, err := from.list("identities")
	if err != nil {
		return err
	}
	if from.values["identity"] != nil {
		identity, err := from.object("identity")
		if err != nil {
			return err
		}
		identities = append(identities, identity)
	}
	if len(identities) == 0 {
		return fmt.Errorf("%s: is required", from.at("identity"))
	}
	items, err := from.list("credentials")
	if err != nil {
		return err
	}
	credential, found, err := r.firstCredential(items)
	if err != nil || !found {
		return err
	}
	for _, identity := range identities {
		consumer, err := newConsumer(identity)
		if err != nil {
			return err
		}
		r.config.Credentials.entries = append(r.config.Credentials.entries, entry{consumer: consumer, credential: credential})
	}
	return nil
}

func newConsumer(identity fields) (consumer, error) {
	var c consumer
	err := identity.texts(map[string]*string{
		"type": &c.kind, "scheme": &c.scheme, "hostname": &c.host, "port": &c.port, "pathprefix": &c.path,
	})
	c.kind, _, _ = strings.Cut(c.kind, "/")
	if err == nil && c.kind == "" {
		err = fmt.Errorf("%s: is required, for example %s", identity.at("type"), TypeOCIRegistry)
	}
	return c, err
}

func (r *reader) firstCredential(items []fields) (Credential, bool, error) {
	for _, item := range items {
		if kind := r.kind(item); kind != "Credentials" && kind != "DirectCredentials" {
			r.ignore("%s: credentials of type %s cannot be read here: set them directly, as type Credentials", item.at("type"), quotedType(kind))
			continue
		}
		properties, err := item.object("properties")
		if err != nil {
			return Credential{}, false, err
		}
		var c Credential
		err = properties.texts(map[string]*string{
			"username":             &c.Username,
			"password":             &c.Password,
			"identityToken":        &c.IdentityToken,
			"certificateAuthority": &c.CertificateAuthority,
			"certificate":          &c.Certificate,
			"privateKey":           &c.PrivateKey,
		})
		return c, true, err
	}
	return Credential{}, false, nil
}

// repository reads credentials that are stored elsewhere. Only an inline docker configuration can be read here: files are those of the
// controller, and vaults need credentials themselves.
func (r *reader) repository(from fields) error {
	repository, err := from.object("repository")
	if err != nil {
		return err
	}
	document := repository.values["dockerConfig"]
	if r.kind(repository) != "DockerConfig" || document == nil {
		r.ignore(
			"%s: credential repositories of type %s cannot be read here: only an inline dockerConfig",
			repository.path, quotedType(r.kind(repository)))
		return nil
	}
	if text, ok := document.(string); ok {
		set, err := ParseDockerConfig([]byte(text))
		if err != nil {
			return fmt.Errorf("%s: %w", repository.at("dockerConfig"), err)
		}
		r.config.Credentials = r.config.Credentials.And(set)
		return nil
	}
	inner, err := repository.object("dockerConfig")
	if err != nil {
		return err
	}
	set, err := dockerConfig(inner)
	if err != nil {
		return fmt.Errorf("%s: %w", inner.path, err)
	}
	r.config.Credentials = r.config.Credentials.And(set)
	return nil
}
