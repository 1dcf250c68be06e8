package io.rdmaraw.testsuite.script;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Plays every script against the core in virtual time, and against the kernel of this host. */
class ScriptTest {
    private static final int ATTEMPTS = 3;

    static Stream<Script> all() {
        return Scripts.all().stream();
    }

    static Stream<Script> comparable() {
        return all().filter(script -> script.coreOnlyReason().isEmpty());
    }

    @ParameterizedTest
    @MethodSource("all")
    void core(Script script) {
        ScriptRunner.play(script, CoreDriver::new);
    }

    /**
     * The kernel's timers run in real time. If this thread waits for a processor, the kernel may retransmit or
     * acknowledge before the script continues. Such a difference does not occur again.
     */
    @ParameterizedTest
    @MethodSource("comparable")
    @Tag("root")
    void kernel(Script script) {
        assumeTrue(ScriptMain.mayUseKernel(),
                "needs root and /dev/net/tun, for a TUN device in a namespace of its own");
        AssertionError difference = differenceToKernel(script);
        for (int i = 1; i < ATTEMPTS && difference != null; i++) {
            System.out.println("played again: " + difference.getMessage());
            difference = differenceToKernel(script);
        }
        if (difference != null) {
            throw difference;
        }
    }

    private static AssertionError differenceToKernel(Script script) {
        try {
            ScriptRunner.play(script, KernelDriver::new);
            return null;
        } catch (AssertionError e) {
            return e;
        }
    }

    @Test
    void scriptThatDoesNotHoldFails() {
        Script wrong = Script.named("wrong").established().peer("P. seq 1 ack 1 len 100").ours(". seq 1 ack 100");
        assertThrows(AssertionError.class, () -> ScriptRunner.play(wrong, CoreDriver::new));
        Script silent = Script.named("silent").established().peer("P. seq 1 ack 1 len 100").silenceMillis(50);
        assertThrows(AssertionError.class, () -> ScriptRunner.play(silent, CoreDriver::new));
    }
}
