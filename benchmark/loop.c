/* A driver that sends states at a fixed rate and times their answers, over ROS topics or UDP, and a controller over UDP.

Compiled and called by loop.py: cc -O2 -shared -fPIC -o loop.so loop.c */
#define _GNU_SOURCE
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define PATIENCE 50000000ll /* [ns] from the last state until answers are no longer waited for */

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* A driver does not wait: state k is sent at k periods, whatever has been answered. */
typedef struct {
    int64_t n, period, next_at, end_at, k;
    int64_t *sent; /* [n] when each state was sent [ns] */
    int64_t *took; /* [n] from each state to its answer [ns]; -1: none came */
} Run;

static void begin(Run *run) {
    run->k = 0;
    run->next_at = now() + run->period;
    for (int64_t k = 0; k < run->n; k++) run->took[k] = -1;
}

static int is_due(Run *run) { return run->k < run->n && now() >= run->next_at; }

static int64_t departure(Run *run) {
    run->next_at += run->period;
    run->sent[run->k] = now();
    run->end_at = run->sent[run->k] + PATIENCE;
    return run->k++;
}

static void arrival(Run *run, int64_t k) {
    if (0 <= k && k < run->k && run->took[k] < 0) run->took[k] = now() - run->sent[k];
}

/* Time to wait for an answer [ns]; 0: the run is over. */
static int64_t waiting_time(Run *run) {
    int64_t left = (run->k < run->n ? run->next_at : run->end_at) - now();
    if (run->k == run->n && left <= 0) return 0;
    return left > 1 ? left : 1;
}

/* ---- UDP: the datagrams of `arm_control serve`, n joints: heads of 24 bytes with a number at 8 and, in a state, a
   stamp at 16; then q and v, or tau ---------------------------------------------------------------------------------- */

#define HEAD 24
#define MOST_JOINTS 16

void drive_udp(Run *run, int fd, const char *state, int64_t n_joints, int64_t first_ns, int64_t step_ns) {
    char out[HEAD + 16 * MOST_JOINTS], in[512];
    memcpy(out, state, HEAD + 16 * n_joints);
    begin(run);
    for (int64_t wait; (wait = waiting_time(run));) {
        if (is_due(run)) {
            int64_t k = departure(run), stamp = first_ns + step_ns * k;
            memcpy(out + 8, &k, 8);
            memcpy(out + 16, &stamp, 8);
            send(fd, out, HEAD + 16 * n_joints, 0);
            continue;
        }
        struct pollfd ready = {fd, POLLIN, 0};
        struct timespec t = {wait / 1000000000, wait % 1000000000};
        if (ppoll(&ready, 1, &t, 0) > 0 && recv(fd, in, sizeof in, MSG_DONTWAIT) == HEAD + 8 * n_joints) {
            int64_t k;
            memcpy(&k, in + 8, 8);
            arrival(run, k);
        }
    }
}

/* The controller in C: law and gate in one kernel, whose inputs begin with q and v. Ends with an empty datagram. */
void control_udp(int fd, double (*compute)(double *), double *work, double *tau_0, const double *tau_1, int64_t n_joints) {
    char in[512], out[HEAD + 8 * MOST_JOINTS];
    ssize_t size;
    while ((size = recv(fd, in, sizeof in, 0))) {
        for (ssize_t newer; (newer = recv(fd, in, sizeof in, MSG_DONTWAIT)) > 0;) size = newer; /* the newest counts */
        if (size != HEAD + 16 * n_joints) continue;
        memcpy(work, in + HEAD, 16 * n_joints);
        if (compute(work) != 0.0) continue;
        memcpy(tau_0, tau_1, 8 * n_joints);
        memcpy(out, in, HEAD);
        memcpy(out + HEAD, tau_1, 8 * n_joints);
        send(fd, out, HEAD + 8 * n_joints, 0);
    }
}

/* ---- ROS topics: the number of a state is in its stamp ------------------------------------------------------------- */

typedef struct {
    uint8_t *data;
    size_t size;
} Message;

typedef struct Ros Ros;

struct Ros {
    void *subscription, *publisher, *info;
    Message *taken, *state;
    int (*listen)(void *, void (*)(Ros *, size_t), Ros *);
    int (*take)(void *, void *, void *, void *), (*publish)(void *, void *, void *);
    Run *run;
    int64_t first_ns, step_ns; /* stamp of the first state, and from one to the next */
};

/* Takes the answers that wait; called by the thread of the middleware that has received one. */
static void on_command(Ros *ros, size_t n) {
    (void)n;
    while (ros->take(ros->subscription, ros->taken, ros->info, 0) == 0) {
        int32_t sec;
        uint32_t nanosec;
        memcpy(&sec, ros->taken->data + 4, 4);
        memcpy(&nanosec, ros->taken->data + 8, 4);
        arrival(ros->run, (sec * 1000000000ll + nanosec - ros->first_ns) / ros->step_ns);
    }
}

void drive_ros(Run *run, Ros *ros) {
    begin(run);
    ros->run = run;
    on_command(ros, 0); /* late answers of the run before */
    ros->listen(ros->subscription, on_command, ros);
    for (int64_t wait; (wait = waiting_time(run));) {
        if (is_due(run)) {
            int64_t stamp = ros->first_ns + ros->step_ns * departure(run);
            int32_t sec = stamp / 1000000000;
            uint32_t nanosec = stamp % 1000000000;
            memcpy(ros->state->data + 4, &sec, 4);
            memcpy(ros->state->data + 8, &nanosec, 4);
            ros->publish(ros->publisher, ros->state, 0);
        } else {
            struct timespec t = {wait / 1000000000, wait % 1000000000};
            clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0);
        }
    }
    ros->listen(ros->subscription, 0, 0);
}
