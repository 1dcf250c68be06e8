package io.rdmaraw.microbench.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class CompilerTimeTest {
    private static final String TIMES = " S 1 2 3 4 5 6 7 8 9 10 150 25 13 14";

    @Test
    void countsTheTimeOfCompilersAlone() {
        assertEquals(1.75, CompilerTime.secondsIn("7 (C2 CompilerThre)" + TIMES));
        assertEquals(1.75, CompilerTime.secondsIn("7 (C1 CompilerThre)" + TIMES));
        assertEquals(0, CompilerTime.secondsIn("7 (a (C2) loop)" + TIMES));
    }

    @Test
    void findsTheCompilersOfThisProcess() {
        assertTrue(CompilerTime.seconds(ProcessHandle.current().pid()) > 0);
    }
}
