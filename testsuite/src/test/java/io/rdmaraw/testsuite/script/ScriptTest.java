package io.rdmaraw.testsuite.script;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every script against the core in virtual time, and against the kernel it runs on. */
class ScriptTest {
    static Stream<Script> all() {
        return Scripts.all().stream();
    }

    static Stream<Script> comparable() {
        return all().filter(script -> script.coreOnlyReason().isEmpty());
    }

    @ParameterizedTest
    @MethodSource("all")
    void core(Script script) throws Exception {
        play(script, CoreDriver::new);
    }

    @ParameterizedTest
    @MethodSource("comparable")
    @Tag("root")
    void kernel(Script script) throws Exception {
        boolean root = "root".equals(System.getProperty("user.name"));
        assumeTrue(root && Files.isWritable(Path.of("/dev/net/tun")),
                "needs root and /dev/net/tun, for a TUN device in a namespace of its own");
        play(script, KernelDriver::new);
    }

    @Test
    void aScriptThatIsNotFollowedFails() {
        Script wrong = Script.named("wrong").established().peer("P. seq 1 ack 1 len 100").ours(". seq 1 ack 100");
        assertThrows(AssertionError.class, () -> play(wrong, CoreDriver::new));
        Script silent = Script.named("silent").established().peer("P. seq 1 ack 1 len 100").silenceMillis(50);
        assertThrows(AssertionError.class, () -> play(silent, CoreDriver::new));
    }

    /** On a thread of its own: the kernel's driver leaves the thread in another network namespace. */
    private static void play(Script script, Supplier<ScriptDriver> drivers) throws Exception {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread thread = Thread.ofPlatform().name(script.name()).start(() -> {
            try (ScriptDriver driver = drivers.get()) {
                new ScriptRunner(script, driver).run();
            } catch (Throwable e) {
                failure.set(e);
            }
        });
        thread.join();
        if (failure.get() instanceof AssertionError error) {
            throw error;
        }
        assertNull(failure.get());
    }
}
