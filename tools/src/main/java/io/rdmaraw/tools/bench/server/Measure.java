package io.rdmaraw.tools.bench.server;

import io.rdmaraw.tools.report.BenchRow.Unit;

/** What a run of a generator against a server gives. */
enum Measure {
    PER_SERVER_CPU(".perServerCpu", Unit.ANSWERS_PER_CPU_SECOND),
    PER_MACHINE_CPU(".perMachineCpu", Unit.ANSWERS_PER_CPU_SECOND),
    SERVER_CPU(".serverCpu", Unit.PERCENT_OF_CORE),
    /** How long the server's loop was ready while something else had its core. */
    WAITED(".waited", Unit.PERCENT_WAITED),
    RATE(".rate", Unit.ANSWERS_PER_SECOND),
    P50(".p50", Unit.MICROSECONDS),
    P99(".p99", Unit.MICROSECONDS),
    P999(".p999", Unit.MICROSECONDS),
    /** By how much the generator itself was late: the 99th percentile. */
    GENERATOR_LATE(".generatorLate", Unit.MICROSECONDS);

    private final String suffix;
    private final Unit unit;

    Measure(String suffix, Unit unit) {
        this.suffix = suffix;
        this.unit = unit;
    }

    /** The end of the case's name. */
    String suffix() {
        return suffix;
    }

    /** Whether more or less of it on one transport than on another says something of the transports. */
    boolean isCompared() {
        return this != WAITED;
    }

    Unit unit() {
        return unit;
    }
}
