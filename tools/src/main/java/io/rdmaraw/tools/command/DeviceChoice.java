package io.rdmaraw.tools.command;

import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The device of a command that examines a single device, given as an argument or with {@code -d}. */
public final class DeviceChoice {
    @Parameters(paramLabel = "DEVICE", description = "such as soft:xdp:eth0 or mlx5_0; see ./rdma-raw devinfo --list")
    private String argument;

    @Option(names = {"-d", "--device"}, paramLabel = "D", description = "the same")
    private String option;

    /** Returns the given device name. */
    public String name() {
        return argument != null ? argument : option;
    }

    /** Returns the given device name, or null if the command was called without a device. */
    public static String nameOrNull(DeviceChoice choiceOrNull) {
        return choiceOrNull == null ? null : choiceOrNull.name();
    }
}
