package io.rdmaraw.microbench.process;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmaraw.tools.command.ToolException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Pins threads to cores with {@code sched_setaffinity(2)}. */
@SuppressWarnings("restricted")
public final class ThreadAffinity {
    private static final int SET_BYTES = 128;
    private static final MethodHandle SCHED_SETAFFINITY = Linker.nativeLinker().downcallHandle(
            Linker.nativeLinker().defaultLookup().findOrThrow("sched_setaffinity"),
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));

    private ThreadAffinity() {
    }

    /** Pins the calling thread to a core. */
    public static void pinTo(int core) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment set = arena.allocate(SET_BYTES, Long.BYTES);
            set.setAtIndex(JAVA_LONG, core / Long.SIZE, 1L << core);
            if ((int) SCHED_SETAFFINITY.invokeExact(0, (long) SET_BYTES, set) != 0) {
                throw new ToolException("cannot pin a thread to core " + core + ": is it allowed to this process?");
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
