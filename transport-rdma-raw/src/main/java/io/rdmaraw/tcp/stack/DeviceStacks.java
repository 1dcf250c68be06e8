package io.rdmaraw.tcp.stack;

import io.rdmaraw.queue.SharedDevice;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Registry of the stacks of each device. A cross-loop lookup searches them. Thread-safe. */
final class DeviceStacks {
    private static final Map<SharedDevice, List<TcpStack>> BY_DEVICE = new ConcurrentHashMap<>();

    private DeviceStacks() {
    }

    static void add(TcpStack stack) {
        BY_DEVICE.compute(stack.deviceQueue().device(), (device, before) -> {
            List<TcpStack> stacks = new ArrayList<>(before == null ? List.of() : before);
            stacks.add(stack);
            return List.copyOf(stacks);
        });
    }

    static void remove(TcpStack stack) {
        BY_DEVICE.computeIfPresent(stack.deviceQueue().device(), (device, before) -> {
            List<TcpStack> stacks = before.stream().filter(other -> other != stack).toList();
            return stacks.isEmpty() ? null : stacks;
        });
    }

    /** Returns the stacks of a device in the order of their creation. */
    static List<TcpStack> of(SharedDevice device) {
        return BY_DEVICE.getOrDefault(device, List.of());
    }
}
