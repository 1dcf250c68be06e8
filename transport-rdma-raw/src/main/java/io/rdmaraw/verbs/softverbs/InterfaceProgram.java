package io.rdmaraw.verbs.softverbs;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.softverbs.SoftverbsLayouts.SoftverbsProgramLayout;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.stream.LongStream;

/**
 * An eBPF program attached to a network interface.
 *
 * @param attachPoint the hook that the program is attached to
 * @param id    ID of the program as printed by {@code bpftool prog}
 * @param name  name of the program; empty if this process lacks the {@code CAP_SYS_ADMIN} to read it
 */
public record InterfaceProgram(AttachPoint attachPoint, int id, String name) {
    private static final int MAX_PROGRAMS = 65;
    private static final int NAME_BYTES = 16;
    private static final String OWN_PREFIX = "rdma_raw_";

    /** The hooks in the order in which the kernel runs them; {@code softverbs.h} uses the same numbers. */
    public enum AttachPoint {
        /** XDP, run by the kernel for any driver. */
        XDP_GENERIC,
        /** XDP, run by the driver. */
        XDP_DRIVER,
        /** tc ingress (TCX). */
        TC
    }

    /**
     * Returns the programs of an interface in this network namespace, in the order in which the kernel runs
     * them. Without {@code CAP_NET_ADMIN} only the XDP program is visible.
     */
    public static List<InterfaceProgram> of(String netdev) {
        long function = VerbsDevices.softverbsFunction("softverbs_query_programs");
        if (function == 0) {
            return List.of();
        }
        try (Arena arena = Arena.ofConfined()) {
            long memory = arena.allocate((long) MAX_PROGRAMS * SoftverbsProgramLayout.SIZE_BYTES, Integer.BYTES)
                    .address();
            int count = NativeCall.intValue(function, arena.allocateFrom(netdev).address(), memory, MAX_PROGRAMS);
            if (count == -Errno.ENODEV) {
                return List.of();
            }
            VerbsException.check("softverbs_query_programs", Math.max(0, -count), netdev);
            return LongStream.range(0, count).mapToObj(i -> read(memory + i * SoftverbsProgramLayout.SIZE_BYTES))
                    .toList();
        }
    }

    /** Returns whether a process of this transport attached the program. */
    public boolean isOwn() {
        return name.startsWith(OWN_PREFIX);
    }

    private static InterfaceProgram read(long memory) {
        int attachPoint = NativeMemory.getInt(memory + SoftverbsProgramLayout.ATTACH_POINT_OFFSET);
        return new InterfaceProgram(AttachPoint.values()[attachPoint],
                NativeMemory.getInt(memory + SoftverbsProgramLayout.ID_OFFSET),
                NativeMemory.segment(memory + SoftverbsProgramLayout.NAME_OFFSET, NAME_BYTES).getString(0));
    }
}
