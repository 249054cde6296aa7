/* A driver that is not ROS: sends joint states to `arm_control serve` at 1 kHz, and takes torque.

cc -O2 -o udp_driver udp_driver.c && ./udp_driver [PORT [ANSWERS]]      (x86-64, aarch64: little endian)
Put your robot's functions in the place of read_joints and write_torque; it must have a watchdog of its own. */
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

static void write_torque(const Answer *answer) {
    printf("state %llu:%s", (unsigned long long)answer->number, answer->is_braking ? " braking," : "");
    for (int i = 0; i < N; i++) printf(" %.3f", answer->tau[i]);
    puts(" N m");
}

int main(int n_words, char **words) {
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    server.sin_port = htons(n_words > 1 ? atoi(words[1]) : 7601);
    long n_answers = n_words > 2 ? atol(words[2]) : 1000;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    connect(fd, (struct sockaddr *)&server, sizeof server);
    setvbuf(stdout, NULL, _IOLBF, 0);
    State state = {.mark = "ACS1", .n = N};
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long answered = 0; answered < n_answers; state.number++) {
        if ((next.tv_nsec += PERIOD) >= 1000000000) next.tv_sec++, next.tv_nsec -= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
        state.stamp = (int64_t)state.number * PERIOD; /* the time at which the joints were measured */
        read_joints(state.q, state.v);
        send(fd, &state, sizeof state, 0);
        Answer answer;
        struct pollfd ready = {fd, POLLIN, 0};
        while (poll(&ready, 1, 0) > 0) /* the answer to this state, or to one before; or nobody listens yet */
            if (recv(fd, &answer, sizeof answer, 0) == sizeof answer && !memcmp(answer.mark, "ACT1", 4))
                answered++, write_torque(&answer);
    }
    return 0;
}
