// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
)

// ErrDecrypt says that a text cannot be decrypted, and neither why nor what it is.
var ErrDecrypt = errors.New("the text cannot be decrypted with this key")

// spiffSecret is what spiff signs with before it encrypts. It is no secret: it only reports whether a key was the right one.
const spiffSecret = "spiff is a cool tool"

// EncryptSpiff encrypts a text as spiff does by the method 3DES: with a signature behind it, in hexadecimal digits.
func EncryptSpiff(entropy io.Reader, key, text string) (string, error) {
	block, err := spiffCipher(key)
	if err != nil {
		return "", err
	}
	content := append([]byte(text), spiffSignature([]byte(text))...)
	padding := block.BlockSize() - 1 - len(content)%block.BlockSize()
	content = append(content, bytes.Repeat([]byte{byte(padding)}, padding+1)...)
	encrypted, err := encrypted(entropy, block, content)
	return hex.EncodeToString(encrypted), err
}

// DecryptSpiff is the inverse of EncryptSpiff.
func DecryptSpiff(key, text string) (string, error) {
	block, err := spiffCipher(key)
	if err != nil {
		return "", err
	}
	content, err := hex.DecodeString(text)
	size := block.BlockSize()
	if err != nil || len(content) < 2*size || len(content)%size != 0 {
		return "", ErrDecrypt
	}
	start, content := content[:size], content[size:]
	cipher.NewCBCDecrypter(block, start).CryptBlocks(content, content)
	signed := len(content) - 1 - int(content[len(content)-1])
	length := signed - sha256.Size
	if length <= 0 || !hmac.Equal(content[length:signed], spiffSignature(content[:length])) {
		return "", ErrDecrypt
	}
	return string(content[:length]), nil
}

// spiffCipher makes the cipher of a key. Spiff takes the first 16 bytes of the key and of the sum of nothing behind it; what is
// encrypted elsewhere can be read only if that stays so.
func spiffCipher(key string) (cipher.Block, error) {
	nothing := md5.Sum(nil)
	long := append([]byte(key), nothing[:]...)
	block, err := des.NewTripleDESCipher(append(bytes.Clone(long[:16]), long[:8]...))
	if err != nil {
		return nil, ErrDecrypt
	}
	return block, nil
}

func spiffSignature(text []byte) []byte {
	mac := hmac.New(sha256.New, []byte(spiffSecret))
	mac.Write(text)
	return mac.Sum(nil)
}

// EncryptAES encrypts a text as sprig does: in blocks that are chained, with the start before them, in base64. An empty text
// stays empty.
func EncryptAES(entropy io.Reader, password, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	key := make([]byte, 32)
	copy(key, password)
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	padding := aes.BlockSize - len(text)%aes.BlockSize
	encrypted, err := encrypted(entropy, block, append([]byte(text), bytes.Repeat([]byte{byte(padding)}, padding)...))
	return base64.StdEncoding.EncodeToString(encrypted), err
}

// encrypted returns a start that is read, and behind it the blocks that follow from it and from the content.
func encrypted(entropy io.Reader, block cipher.Block, content []byte) ([]byte, error) {
	size := block.BlockSize()
	all := make([]byte, size+len(content))
	if _, err := io.ReadFull(entropy, all[:size]); err != nil {
		return nil, err
	}
	cipher.NewCBCEncrypter(block, all[:size]).CryptBlocks(all[size:], content)
	return all, nil
}
