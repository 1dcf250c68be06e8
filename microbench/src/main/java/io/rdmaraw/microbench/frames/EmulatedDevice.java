package io.rdmaraw.microbench.frames;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.tools.command.ToolException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;

/**
 * An emulated ConnectX that processes its work queues only on request. A bench can thus measure the calls of a program
 * without the work of the device. The emulator library is preloaded into this process; see {@code connectx_emulator.h}.
 */
final class EmulatedDevice implements AutoCloseable {
    private static final String LIBRARY_NAME = "libconnectx-emulator.so";

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment name;
    private final MemorySegment done = arena.allocate(ValueLayout.JAVA_INT);
    private final long step;
    private final long setStepping;
    private final long inject;

    private EmulatedDevice(String deviceName, SymbolLookup library) {
        name = arena.allocateFrom(deviceName);
        step = library.findOrThrow("cxemu_step").address();
        setStepping = library.findOrThrow("cxemu_set_stepping").address();
        inject = library.findOrThrow("cxemu_inject").address();
        check(NativeCall.status(setStepping, name.address(), 1));
    }

    /** Returns whether the emulator is preloaded into this process. */
    static boolean isHere() {
        return library() != null;
    }

    private static String library() {
        for (String path : System.getenv().getOrDefault("LD_PRELOAD", "").split("[: ]")) {
            if (path.endsWith(LIBRARY_NAME)) {
                return path;
            }
        }
        return null;
    }

    /** Puts a device into stepping mode: it processes work only in {@link #work}. Closing the result ends this mode. */
    static EmulatedDevice stop(String deviceName) {
        return new EmulatedDevice(deviceName, NativeLibrary.load(library()));
    }

    /** Makes the device process all pending work. */
    void work() {
        do {
            check(NativeCall.status(step, name.address(), Integer.MAX_VALUE, done.address()));
        } while (done.get(ValueLayout.JAVA_INT, 0) > 0);
    }

    /** Delivers a frame to the device as if it came from the wire. */
    void receive(MemorySegment frame) {
        check(NativeCall.status(inject, name.address(), frame.address(), frame.byteSize()));
    }

    private static void check(int errno) {
        if (errno != 0) {
            throw new ToolException("the emulated device failed with errno " + errno);
        }
    }

    @Override
    public void close() {
        check(NativeCall.status(setStepping, name.address(), 0));
        arena.close();
    }
}
