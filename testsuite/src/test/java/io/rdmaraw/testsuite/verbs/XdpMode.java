package io.rdmaraw.testsuite.verbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;

/**
 * Sets the environment variable that selects how {@code soft:xdp:} devices receive. softverbs reads it when it opens a
 * device.
 */
@SuppressWarnings("restricted")
public final class XdpMode {
    private static final String VARIABLE = "SOFTVERBS_XDP_MODE";
    private static final MethodHandle SETENV = Linker.nativeLinker().downcallHandle(
            Linker.nativeLinker().defaultLookup().findOrThrow("setenv"),
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));

    private XdpMode() {
    }

    /** Sets the mode for all devices that this process opens later. An empty string selects the default. */
    public static void set(String mode) {
        try (Arena arena = Arena.ofConfined()) {
            if ((int) SETENV.invokeExact(arena.allocateFrom(VARIABLE), arena.allocateFrom(mode), 1) != 0) {
                throw new AssertionError("setenv failed");
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
