package io.rdmaraw.microbench.jmh;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

import java.util.Collection;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Runs the JMH benches. An ordinary build runs each of them only for a moment, to verify that it works. With
 * {@code -Dmicrobench.full=true} they run as their annotations specify. {@code -Dmicrobench.include=REGEX} selects
 * benches.
 */
@Tag("slow")
class MicrobenchmarksTest {
    @Test
    void everyBenchRuns() throws RunnerException {
        ChainedOptionsBuilder options = new OptionsBuilder().shouldFailOnError(true)
                .include(System.getProperty("microbench.include", "io\\.rdmaraw\\.microbench\\..*"));
        if (!Boolean.getBoolean("microbench.full")) {
            options.forks(0).warmupIterations(0).measurementIterations(1)
                    .measurementTime(TimeValue.milliseconds(10)).param("burst", "64");
        }
        Collection<RunResult> results = new Runner(options.build()).run();
        assertFalse(results.isEmpty());
        for (RunResult result : results) {
            assertTrue(result.getPrimaryResult().getScore() > 0, result.getParams().id());
        }
    }
}
