package io.rdmaraw.tools.doctor;

/** Capabilities that devices need, with their bit in a capability set (linux/capability.h). */
enum Capability {
    CAP_NET_ADMIN(12),
    CAP_NET_RAW(13),
    CAP_IPC_LOCK(14),
    CAP_SYS_ADMIN(21),
    CAP_BPF(39);

    private final int number;

    Capability(int number) {
        this.number = number;
    }

    int number() {
        return number;
    }
}
