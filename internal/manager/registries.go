// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"espalier.dev/internal/artifact"
	"espalier.dev/internal/controller/installations"
)

const mebibyte = 1 << 20

// RegistryOptions configure registries, from which components, blueprints and charts are read.
type RegistryOptions struct {
	// CacheDirectory keeps content of registries, up to CacheMebibytes. Empty means a directory in the system's directory for temporary files.
	CacheDirectory string
	CacheMebibytes int64
	// ComponentsDirectory contains the repositories of repository contexts of the types local and CommonTransportFormat. Empty means that
	// there are none.
	ComponentsDirectory string
	// DefaultRepositoryContext is the repository of components for which neither an installation nor its Context names one, in the syntax of
	// artifact.ParseDefault. Empty means that there is none.
	DefaultRepositoryContext string
	// Verification is one of installations.VerificationPolicies: it determines when signatures of components are checked.
	Verification string
}

func defaultRegistryOptions() RegistryOptions {
	return RegistryOptions{CacheMebibytes: 1024, Verification: string(installations.VerificationPolicies[0])}
}

func (o *RegistryOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(
		&o.CacheDirectory,
		"registry-cache-dir",
		o.CacheDirectory,
		"directory for the registry cache; several processes may share it (default: a temporary one)",
	)
	flags.Int64Var(&o.CacheMebibytes, "registry-cache-size", o.CacheMebibytes, "size limit of that directory, in MiB")
	flags.StringVar(
		&o.ComponentsDirectory,
		"components-dir",
		o.ComponentsDirectory,
		"directory with component archives, to which repository contexts of the types local and CommonTransportFormat lead (default: none)",
	)
	flags.StringVar(
		&o.DefaultRepositoryContext,
		artifact.DefaultFlag,
		o.DefaultRepositoryContext,
		"repository for components for which neither the installation nor its Context names one: the address of a registry, such as "+
			"registry.example.com/components, or a repository context in JSON (default: none)",
	)
	flags.StringVar(
		&o.Verification,
		"signature-verification",
		o.Verification,
		"for which installations to verify component signatures: DoNotEnforce for those with spec.verification, Enforce for all "+
			"installations, so that those without a signature fail, Disabled for none",
	)
}

func (o *RegistryOptions) validate() error {
	if !slices.Contains(installations.VerificationPolicies, installations.VerificationPolicy(o.Verification)) {
		return fmt.Errorf("--signature-verification is %q: it must be one of %v", o.Verification, installations.VerificationPolicies)
	}
	if o.CacheMebibytes < 1 {
		return fmt.Errorf("--registry-cache-size is %d: it must be at least 1", o.CacheMebibytes)
	}
	_, err := artifact.ParseDefault(o.DefaultRepositoryContext)
	return err
}

// open opens the registries of a manager.
func (o *RegistryOptions) open(mgr ctrl.Manager) (*artifact.Registries, error) {
	directory := o.CacheDirectory
	if directory == "" {
		directory = filepath.Join(os.TempDir(), fmt.Sprintf("espalier-registries-%d", os.Getuid()))
	}
	files, err := o.components()
	if err != nil {
		return nil, err
	}
	standard, err := artifact.ParseDefault(o.DefaultRepositoryContext)
	if err != nil {
		return nil, err
	}
	return artifact.NewRegistries(artifact.RegistryOptions{
		Rules:          dialRules(mgr),
		CacheDirectory: directory,
		CacheBytes:     o.CacheMebibytes * mebibyte,
		Files:          files,
		Default:        standard,
	})
}

// components opens the directory of archives. Nothing in it can lead outside, not even links. It stays open as long as the process runs.
func (o *RegistryOptions) components() (fs.FS, error) {
	if o.ComponentsDirectory == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(o.ComponentsDirectory)
	if err != nil {
		return nil, fmt.Errorf("--components-dir: %w", err)
	}
	return root.FS(), nil
}
