package io.rdmaraw.tools.doctor;

import java.util.Locale;

/** The capabilities that devices need, with their bit numbers from linux/capability.h. */
enum Capability {
    CAP_NET_ADMIN(12),
    CAP_NET_RAW(13),
    CAP_IPC_LOCK(14),
    CAP_SYS_ADMIN(21),
    CAP_PERFMON(38),
    CAP_BPF(39);

    private final int number;

    Capability(int number) {
        this.number = number;
    }

    /** Returns the name used by setpriv and by container tools. */
    String shortName() {
        return name().substring("CAP_".length()).toLowerCase(Locale.ROOT);
    }

    int number() {
        return number;
    }
}
