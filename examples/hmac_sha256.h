/* HMAC-SHA256 (RFC 2104, FIPS 180-4), where no library has it. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHA_BLOCK 64
#define SHA_SIZE 32

static uint32_t sha_rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha_block(uint32_t *hash, const uint8_t *block) {
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | block[4 * i + 1] << 16 | block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (sha_rotate(w[i - 15], 7) ^ sha_rotate(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (sha_rotate(w[i - 2], 17) ^ sha_rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, hash, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t e = sha_rotate(s[4], 6) ^ sha_rotate(s[4], 11) ^ sha_rotate(s[4], 25);
        uint32_t a = sha_rotate(s[0], 2) ^ sha_rotate(s[0], 13) ^ sha_rotate(s[0], 22);
        uint32_t t = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
        uint32_t u = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t, s[0] = t + u;
    }
    for (int i = 0; i < 8; i++) hash[i] += s[i];
}

/* SHA-256 of a block and data behind it. */
static void sha_256(const uint8_t *first, const uint8_t *data, size_t size, uint8_t *out) {
    uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint64_t bits = 8 * (uint64_t)(SHA_BLOCK + size);
    sha_block(hash, first);
    for (; size >= SHA_BLOCK; data += SHA_BLOCK, size -= SHA_BLOCK) sha_block(hash, data);
    uint8_t last[2 * SHA_BLOCK] = {0};
    size_t end = size < SHA_BLOCK - 8 ? SHA_BLOCK : 2 * SHA_BLOCK;
    memcpy(last, data, size);
    last[size] = 0x80;
    for (int i = 0; i < 8; i++) last[end - 1 - i] = bits >> 8 * i;
    for (size_t i = 0; i < end; i += SHA_BLOCK) sha_block(hash, last + i);
    for (int i = 0; i < SHA_SIZE; i++) out[i] = hash[i / 4] >> (24 - 8 * (i % 4));
}

/* HMAC-SHA256 of data, with a key of 32 bytes. */
static void hmac_sha256(const uint8_t *key, const void *data, size_t size, uint8_t *out) {
    uint8_t inner[SHA_BLOCK], outer[SHA_BLOCK], hash[SHA_SIZE];
    for (int i = 0; i < SHA_BLOCK; i++) {
        uint8_t k = i < SHA_SIZE ? key[i] : 0;
        inner[i] = k ^ 0x36, outer[i] = k ^ 0x5c;
    }
    sha_256(inner, data, size, hash);
    sha_256(outer, hash, sizeof hash, out);
}
