/* A driver that is not ROS: sends joint states to `arm_control serve` at 1 kHz, and takes torque.

cc -O2 -o udp_driver udp_driver.c && ./udp_driver [--enable] [--key-file FILE] [PORT [ANSWERS]]
(x86-64, aarch64: little endian)
Put your robot's functions in the place of read_joints and write_torque; it must have a watchdog of its own. The robot
here is six flywheels without weight, about as heavy to turn as the joints of a UR5. `arm_control serve --scenario
ur5_osc --driver-adds-gravity` moves them: the hand of a UR5 gets within millimetres of its targets. Once a second, and
when the gate brakes or is enabled, a line tells torque and joints.

--enable sends the order to enable, once, with the first answer that says braking: when the driver starts again, the
gate brakes until then. Stamps come from the monotonic clock, so that those of a second run go on from the first.

--key-file names the key of the command: each datagram then ends with a tag, and numbers follow the Unix time. An answer
with another tag, or to a state that has been answered, is not used. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "hmac_sha256.h"

#define N 6
#define PERIOD 1000000 /* [ns] */
#define TAG 16         /* bytes of HMAC-SHA256 */

typedef struct {
    char mark[4]; /* "ACS1" */
    uint32_t n;
    uint64_t number;
    int64_t stamp; /* [ns] */
    double q[N], v[N];
} State;

enum Gate { PASSING, BRAKING, HOLDING };

typedef struct {
    char mark[4]; /* "ACT1" */
    uint32_t n;
    uint64_t number, gate; /* one of Gate */
    double tau[N];
} Answer;

typedef struct {
    char mark[4]; /* "ACE1" */
    uint32_t zero;
    uint64_t number;
} Order; /* with a key; without one, the mark alone */

static uint8_t key[SHA_SIZE];
static size_t tag_size; /* 0: no key */

static int read_key(const char *path) {
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(key, 1, sizeof key, file) : 0;
    if (file) fclose(file);
    tag_size = TAG;
    return size == sizeof key;
}

static int64_t nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Larger than the numbers before, those of earlier runs included. */
static uint64_t next_number(uint64_t number) {
    uint64_t now = nanoseconds(CLOCK_REALTIME);
    return now > number ? now : number + 1;
}

static void send_datagram(int fd, const void *data, size_t size) {
    uint8_t signed_data[sizeof(State) + SHA_SIZE];
    memcpy(signed_data, data, size);
    if (tag_size) hmac_sha256(key, data, size, signed_data + size);
    send(fd, signed_data, size + tag_size, 0);
}

/* Whether there is an answer to a later state than the last one that was answered. */
static int receive_answer(int fd, uint64_t answered, Answer *answer) {
    uint8_t data[sizeof *answer + TAG + 1], tag[SHA_SIZE], difference = 0;
    if (recv(fd, data, sizeof data, 0) != (ssize_t)(sizeof *answer + tag_size)) return 0;
    memcpy(answer, data, sizeof *answer);
    if (tag_size) hmac_sha256(key, answer, sizeof *answer, tag);
    for (size_t i = 0; i < tag_size; i++) difference |= tag[i] ^ data[sizeof *answer + i];
    return !difference && !memcmp(answer->mark, "ACT1", 4) && answer->number > answered;
}

static void send_enable(int fd, uint64_t number) {
    Order order = {.mark = "ACE1", .number = number};
    send_datagram(fd, &order, tag_size ? sizeof order : sizeof order.mark);
}

static double position[N] = {0.0, -1.4, 1.9, -2.07, -1.57, 0.0}, velocity[N], torque[N];

/* One period later, with the torque of the last answer. */
static void read_joints(double *q, double *v) {
    const double inertia[N] = {1.0, 1.7, 0.7, 0.02, 0.004, 0.0002}; /* [kg m^2] */
    for (int i = 0; i < N; i++) {
        velocity[i] += torque[i] / inertia[i] * PERIOD * 1e-9;
        position[i] += velocity[i] * PERIOD * 1e-9;
    }
    memcpy(q, position, sizeof position);
    memcpy(v, velocity, sizeof velocity);
}

static void write_torque(const double *tau) { memcpy(torque, tau, sizeof torque); }

static void print_answer(const Answer *answer) {
    printf("state %llu:%s torque", (unsigned long long)answer->number, answer->gate == BRAKING ? " braking," : "");
    for (int i = 0; i < N; i++) printf(" %.3f", answer->tau[i]);
    fputs(" N m, joints", stdout);
    for (int i = 0; i < N; i++) printf(" %.3f", position[i]);
    puts(" rad");
}

/* A gate that brakes goes on to send torque, which stops the arm and carries its weight. */
static void report_brake(const Answer *answer, uint64_t was_braking, int may_enable) {
    if ((answer->gate == BRAKING) == was_braking) return;
    if (answer->gate != BRAKING)
        fputs("enabled\n", stderr);
    else
        fprintf(stderr, "braking: `arm_control serve` has printed why; %s\n",
                may_enable ? "enabling it" : "--enable enables it");
}

int main(int n_words, char **words) {
    int may_enable = n_words > 1 && !strcmp(words[1], "--enable");
    n_words -= may_enable, words += may_enable;
    if (n_words > 2 && !strcmp(words[1], "--key-file")) {
        if (!read_key(words[2])) return fprintf(stderr, "%s: no key of 32 bytes\n", words[2]), 2;
        n_words -= 2, words += 2;
    }
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    server.sin_port = htons(n_words > 1 ? atoi(words[1]) : 7301);
    long n_answers = n_words > 2 ? atol(words[2]) : 20000;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    connect(fd, (struct sockaddr *)&server, sizeof server);
    setvbuf(stdout, NULL, _IOLBF, 0);
    State state = {.mark = "ACS1", .n = N, .number = nanoseconds(CLOCK_REALTIME)};
    uint64_t was_braking = 0, answered_number = state.number;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long answered = 0; answered < n_answers;) {
        if ((next.tv_nsec += PERIOD) >= 1000000000) next.tv_sec++, next.tv_nsec -= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
        state.stamp = next.tv_sec * INT64_C(1000000000) + next.tv_nsec; /* when the joints were measured; never 0 */
        state.number = next_number(state.number);
        read_joints(state.q, state.v);
        send_datagram(fd, &state, sizeof state);
        Answer answer;
        struct pollfd ready = {fd, POLLIN, 0};
        while (poll(&ready, 1, 0) > 0) { /* the answer to this state, or to one before; or nobody listens yet */
            if (!receive_answer(fd, answered_number, &answer)) continue;
            answered_number = answer.number;
            write_torque(answer.tau);
            answered++;
            if (answered % 1000 == 1 || answered == n_answers || (answer.gate == BRAKING) != was_braking)
                print_answer(&answer);
            report_brake(&answer, was_braking, may_enable);
            was_braking = answer.gate == BRAKING;
            if (was_braking && may_enable) {
                state.number = next_number(state.number), may_enable = 0;
                send_enable(fd, state.number);
            }
        }
    }
    return 0;
}
