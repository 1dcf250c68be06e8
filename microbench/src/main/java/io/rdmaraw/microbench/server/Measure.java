package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.result.BenchRow.Unit;

/** The figures of one run of a load generator against a server. */
enum Measure {
    PER_SERVER_CPU(".perServerCpu", Unit.ANSWERS_PER_CPU_SECOND),
    PER_MACHINE_CPU(".perMachineCpu", Unit.ANSWERS_PER_CPU_SECOND),
    SERVER_CPU(".serverCpu", Unit.PERCENT_OF_CORE),
    /** How long the event loop of the server was ready while another thread had its core. */
    WAITED(".waited", Unit.PERCENT_WAITED),
    RATE(".rate", Unit.ANSWERS_PER_SECOND),
    P50(".p50", Unit.MICROSECONDS),
    P99(".p99", Unit.MICROSECONDS),
    P999(".p999", Unit.MICROSECONDS),
    /** How late the generator itself was: the 99th percentile. */
    GENERATOR_LATE(".generatorLate", Unit.MICROSECONDS);

    private final String suffix;
    private final Unit unit;

    Measure(String suffix, Unit unit) {
        this.suffix = suffix;
        this.unit = unit;
    }

    /** Returns the suffix of the name of the case. */
    String suffix() {
        return suffix;
    }

    /** Returns whether a difference in this figure is a property of the transports. */
    boolean isCompared() {
        return this != WAITED;
    }

    Unit unit() {
        return unit;
    }
}
