package io.rdmaraw.ordering;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The rings work on a processor that guarantees only the order of the Java memory model, with a device that verifies
 * each doorbell. Each planted bug is detected there.
 */
@Tag("emulated")
class RingMutationTest {
    private static final int SEEDS = Integer.getInteger("io.rdmaraw.test.ringSeeds", 20);

    static Stream<RingMutant> mutants() {
        return RingMutant.ALL.stream();
    }

    @Test
    void unchangedRingsAreCorrect(@TempDir Path directory) throws Exception {
        assertNull(firstFailure(RingClasses.unchanged(directory)));
    }

    @ParameterizedTest
    @MethodSource("mutants")
    void plantedBugIsDetected(RingMutant mutant, @TempDir Path directory) throws Exception {
        String caught = firstFailure(RingClasses.of(mutant, directory));
        assertNotNull(caught, () -> "nothing sees the planted bug: " + mutant.name());
        System.out.println(mutant.name() + ": " + caught);
    }

    @Test
    void thereAreEnoughBugs() {
        assertTrue(RingMutant.ALL.stream().map(RingMutant::name).distinct().count() >= 50);
    }

    private static String firstFailure(RingClasses classes) throws Exception {
        Method firstFailure = classes.loadClass("io.rdmaraw.verbs.mlx5.RingScenario").getMethod("firstFailure",
                long.class, long.class);
        return (String) firstFailure.invoke(null, 1L, (long) SEEDS);
    }
}
