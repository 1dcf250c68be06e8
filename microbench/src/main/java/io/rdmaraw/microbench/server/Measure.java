package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchRow.Unit;

/** The figures of one run of a load generator against a server. */
enum Measure {
    PER_SERVER_CPU(".perServerCpu", Unit.ANSWERS_PER_CPU_SECOND),
    PER_MACHINE_CPU(".perMachineCpu", Unit.ANSWERS_PER_CPU_SECOND),
    SERVER_CPU(".serverCpu", Unit.PERCENT_OF_CORE),
    /** Time for which the event loop of the server was runnable while another thread used its core. */
    WAITED(".waited", Unit.PERCENT_WAITED),
    RATE(".rate", Unit.ANSWERS_PER_SECOND),
    P50(".p50", Unit.MICROSECONDS),
    P99(".p99", Unit.MICROSECONDS),
    P999(".p999", Unit.MICROSECONDS),
    /** 99th percentile of the delay of the generator itself. */
    GENERATOR_LATE(".generatorLate", Unit.MICROSECONDS);

    private final String suffix;
    private final Unit unit;

    Measure(String suffix, Unit unit) {
        this.suffix = suffix;
        this.unit = unit;
    }

    /** Returns the suffix of case names. */
    String suffix() {
        return suffix;
    }

    /** Returns whether differences in this figure are due to the transports and may therefore be compared. */
    boolean isCompared() {
        return this != WAITED;
    }

    Unit unit() {
        return unit;
    }
}
