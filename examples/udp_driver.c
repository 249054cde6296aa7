/* A driver that is not ROS: sends joint states to `arm_control serve` at 1 kHz, and takes torque.

cc -O2 -o udp_driver udp_driver.c && ./udp_driver [--enable] [PORT [ANSWERS]]      (x86-64, aarch64: little endian)
Put your robot's functions in the place of read_joints and write_torque; it must have a watchdog of its own.

--enable sends the order to enable, once, with the first answer that says braking: when the driver starts again, the
gate brakes until then. Stamps come from the monotonic clock, so that those of a second run go on from the first. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define N 6
#define PERIOD 1000000 /* [ns] */

typedef struct {
    char mark[4]; /* "ACS1" */
    uint32_t n;
    uint64_t number;
    int64_t stamp; /* [ns] */
    double q[N], v[N];
} State;

typedef struct {
    char mark[4]; /* "ACT1" */
    uint32_t n;
    uint64_t number, is_braking;
    double tau[N];
} Answer;

static void read_joints(double *q, double *v) {
    const double home[N] = {0.0, -1.4, 1.9, -2.07, -1.57, 0.0};
    memcpy(q, home, sizeof home);
    memset(v, 0, N * sizeof *v);
}

/* A gate that brakes goes on to send torque, which stops the arm and carries its weight. */
static void report_brake(const Answer *answer, uint64_t was_braking, int may_enable) {
    if (answer->is_braking == was_braking) return;
    if (!answer->is_braking)
        fputs("enabled\n", stderr);
    else
        fprintf(stderr, "braking: `arm_control serve` has printed why; %s\n",
                may_enable ? "enabling it" : "--enable enables it");
}

static void write_torque(const Answer *answer) {
    printf("state %llu:%s", (unsigned long long)answer->number, answer->is_braking ? " braking," : "");
    for (int i = 0; i < N; i++) printf(" %.3f", answer->tau[i]);
    puts(" N m");
}

int main(int n_words, char **words) {
    int may_enable = n_words > 1 && !strcmp(words[1], "--enable");
    n_words -= may_enable, words += may_enable;
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    server.sin_port = htons(n_words > 1 ? atoi(words[1]) : 7301);
    long n_answers = n_words > 2 ? atol(words[2]) : 1000;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    connect(fd, (struct sockaddr *)&server, sizeof server);
    setvbuf(stdout, NULL, _IOLBF, 0);
    State state = {.mark = "ACS1", .n = N};
    uint64_t was_braking = 0;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long answered = 0; answered < n_answers; state.number++) {
        if ((next.tv_nsec += PERIOD) >= 1000000000) next.tv_sec++, next.tv_nsec -= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
        state.stamp = next.tv_sec * INT64_C(1000000000) + next.tv_nsec; /* when the joints were measured; never 0 */
        read_joints(state.q, state.v);
        send(fd, &state, sizeof state, 0);
        Answer answer;
        struct pollfd ready = {fd, POLLIN, 0};
        while (poll(&ready, 1, 0) > 0) { /* the answer to this state, or to one before; or nobody listens yet */
            if (recv(fd, &answer, sizeof answer, 0) != sizeof answer || memcmp(answer.mark, "ACT1", 4)) continue;
            answered++, write_torque(&answer);
            report_brake(&answer, was_braking, may_enable);
            was_braking = answer.is_braking;
            if (was_braking && may_enable) send(fd, "ACE1", 4, 0), may_enable = 0;
        }
    }
    return 0;
}
