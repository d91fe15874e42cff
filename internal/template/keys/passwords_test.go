// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package keys_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"

	"espalier.dev/internal/template/keys"
)

// The package golang.org/x/crypto/bcrypt agrees with the hashes, and they follow from the seed.
func TestBcrypt(t *testing.T) {
	for _, password := range []string{"", "secret", "pässwörd", strings.Repeat("x", 72)} {
		hash, err := keys.Bcrypt(entropy("x"), password, 4)
		if err != nil || !regexp.MustCompile(`^\$2a\$04\$[./A-Za-z0-9]{53}$`).MatchString(hash) {
			t.Fatalf("%q: %q, %v", password, hash, err)
		}
		if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)); err != nil || !keys.IsBcrypt(hash, password) ||
			keys.IsBcrypt(hash, "other") {
			t.Errorf("%q: %q is not its hash: %v", password, hash, err)
		}
		again, _ := keys.Bcrypt(entropy("x"), password, 4)
		if other, _ := keys.Bcrypt(entropy("y"), password, 4); again != hash || other == hash {
			t.Errorf("%q: the hash does not follow from the seed", password)
		}
		if cost, ok := keys.CostInBcrypt(hash); cost != 4 || !ok {
			t.Errorf("%q: cost %d, %t", hash, cost, ok)
		}
	}
	for _, cost := range []int{-1, 3, 15, 31, 1 << 30} {
		if _, err := keys.Bcrypt(entropy("x"), "secret", cost); err != keys.ErrCost {
			t.Errorf("cost %d: %v", cost, err)
		}
	}
	if _, err := keys.Bcrypt(entropy("x"), strings.Repeat("x", 73), 4); err != keys.ErrPassword {
		t.Error(err)
	}
	for wanted, want := range map[int64]int{-1: 10, 3: 10, 4: 4, 14: 14} {
		if cost, err := keys.BcryptCost(wanted); cost != want || err != nil {
			t.Errorf("cost %d: %d, %v", wanted, cost, err)
		}
	}
	if _, err := keys.BcryptCost(15); err != keys.ErrCost {
		t.Error(err)
	}
}

// Known hashes, created with openssl.
func TestMD5Crypt(t *testing.T) {
	for hash, password := range map[string]string{
		"$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/":    "password",
		"$apr1$saltsalt$EudvE/STdybBGETby74fj/": "passwort",
		"$apr1$3azHgidD$IFgqWF4QYy84idxNRvvfI/": "a longer password of more than sixteen bytes",
	} {
		if same, err := keys.IsMD5Crypt(hash, password); !same || err != nil {
			t.Errorf("%s: %t, %v", hash, same, err)
		}
		if same, err := keys.IsMD5Crypt(hash, password+"x"); same || err != nil {
			t.Errorf("%s is also the hash of another password: %v", hash, err)
		}
	}
	for _, password := range []string{"", "x", "secret", strings.Repeat("long ", 40)} {
		hash, err := keys.MD5Crypt(entropy("x"), password)
		if err != nil || !regexp.MustCompile(`^\$apr1\$[./0-9A-Za-z]{8}\$[./0-9A-Za-z]{22}$`).MatchString(hash) {
			t.Errorf("%q: %q, %v", password, hash, err)
		}
		if same, err := keys.IsMD5Crypt(hash, password); !same || err != nil {
			t.Errorf("%q is not recognised by %q: %v", password, hash, err)
		}
	}
	for _, text := range []string{"", "x", "$1$x", "$1$a$b$c"} {
		if _, err := keys.IsMD5Crypt(text, "x"); err != keys.ErrMD5Crypt {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestEncryptionOfSpiff(t *testing.T) {
	for _, key := range []string{"k", "sixteen bytes ok", strings.Repeat("long", 20)} {
		for _, text := range []string{"x", "1234567", "12345678", strings.Repeat("text ", 100)} {
			encrypted, err := keys.EncryptSpiff(entropy("x"), key, text)
			if again, _ := keys.EncryptSpiff(entropy("x"), key, text); err != nil || again != encrypted {
				t.Errorf("%q does not follow from the seed: %v", text, err)
			}
			if decrypted, err := keys.DecryptSpiff(key, encrypted); decrypted != text || err != nil {
				t.Errorf("%q became %q: %v", text, decrypted, err)
			}
			for _, wrong := range []string{"", "x", encrypted[:16], encrypted[:len(encrypted)-2], encrypted[:len(encrypted)-16], encrypted[16:], encrypted + "00"} {
				if _, err := keys.DecryptSpiff(key, wrong); err != keys.ErrDecrypt {
					t.Errorf("%q: %v", wrong, err)
				}
			}
			if _, err := keys.DecryptSpiff("other", encrypted); err != keys.ErrDecrypt {
				t.Errorf("with another key: %v", err)
			}
		}
	}
}

func TestEncryptionOfSprig(t *testing.T) {
	decrypt := sprig.TxtFuncMap()["decryptAES"].(func(string, string) (string, error))
	for _, text := range []string{"", "x", "0123456789abcdef", strings.Repeat("text ", 100)} {
		encrypted, err := keys.EncryptAES(entropy("x"), "password", text)
		if decrypted, wrong := decrypt("password", encrypted); decrypted != text || err != nil || wrong != nil {
			t.Errorf("%q became %q: %v, %v", text, decrypted, err, wrong)
		}
		again, _ := keys.EncryptAES(entropy("x"), "password", text)
		if other, _ := keys.EncryptAES(entropy("y"), "password", text); again != encrypted || other == encrypted && text != "" {
			t.Errorf("%q does not follow from the seed", text)
		}
	}
}

// SSH itself writes the keys in the same way.
func TestPublicKeysOfSSH(t *testing.T) {
	for name, make := range makers {
		key, err := make(entropy("x"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := keys.PublicSSH(key.Public())
		known, wrong := ssh.NewPublicKey(key.Public())
		if wrong != nil {
			if err != keys.ErrSSH {
				t.Errorf("%s: %v, but SSH has %v", name, err, wrong)
			}
			continue
		}
		if want := string(ssh.MarshalAuthorizedKey(known)); text != want || err != nil {
			t.Errorf("%s: got %q, want %q, %v", name, text, want, err)
		}
	}
	if _, err := keys.PublicSSH("no key"); err != keys.ErrSSH {
		t.Error(err)
	}
}
