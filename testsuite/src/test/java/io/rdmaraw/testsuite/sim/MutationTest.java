package io.rdmaraw.testsuite.sim;

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

/** Checks that the simulator detects each bug in {@link Mutant}. */
@Tag("slow")
class MutationTest {
    /**
     * Number of seeds per bug. Most bugs are detected within the first hundred seeds, bugs in rarely used
     * algorithms later.
     */
    private static final long SEEDS = 20_000;

    static Stream<Mutant> mutants() {
        return Mutant.ALL.stream();
    }

    @ParameterizedTest
    @MethodSource("mutants")
    void isCaught(Mutant mutant, @TempDir Path directory) throws Exception {
        Class<?> seeds = MutantLoader.of(mutant, directory).loadClass("io.rdmaraw.testsuite.sim.SeedRange");
        Method firstFailure = seeds.getMethod("firstFailure", long.class, long.class);
        String caught = (String) firstFailure.invoke(null, 1L, SEEDS);
        assertNotNull(caught, () -> "The simulator does not see the planted bug: " + mutant.name());
        System.out.println(mutant.name() + ": " + caught);
        long seed = Long.parseLong(caught.substring(5, caught.indexOf(':')));
        assertNull(SeedRange.firstFailure(seed, 1), "The seed fails without the bug, too, and so proves nothing");
    }

    @Test
    void thereAreEnoughBugs() {
        assertTrue(Mutant.ALL.stream().map(Mutant::name).distinct().count() >= 20);
    }
}
