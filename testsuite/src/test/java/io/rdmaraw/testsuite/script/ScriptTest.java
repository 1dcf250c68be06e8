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

    @ParameterizedTest
    @MethodSource("comparable")
    @Tag("root")
    void kernel(Script script) {
        assumeTrue(ScriptMain.mayUseKernel(),
                "needs root and /dev/net/tun, for a TUN device in a namespace of its own");
        ScriptRunner.play(script, KernelDriver::new);
    }

    @Test
    void scriptThatDoesNotHoldFails() {
        Script wrong = Script.named("wrong").established().peer("P. seq 1 ack 1 len 100").ours(". seq 1 ack 100");
        assertThrows(AssertionError.class, () -> ScriptRunner.play(wrong, CoreDriver::new));
        Script silent = Script.named("silent").established().peer("P. seq 1 ack 1 len 100").silenceMillis(50);
        assertThrows(AssertionError.class, () -> ScriptRunner.play(silent, CoreDriver::new));
    }
}
