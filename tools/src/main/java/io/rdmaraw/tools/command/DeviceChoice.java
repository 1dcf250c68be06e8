package io.rdmaraw.tools.command;

import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The device of a command that is about one device, as an argument or as the other commands have it. */
public final class DeviceChoice {
    @Parameters(paramLabel = "DEVICE", description = "such as soft:xdp:eth0 or mlx5_0; see ./rdma-raw devinfo --list")
    private String argument;

    @Option(names = {"-d", "--device"}, paramLabel = "D", description = "the same")
    private String option;

    /** Returns the name that was given. */
    public String name() {
        return argument != null ? argument : option;
    }

    /** Returns the name that was given, or null where a command may go without. */
    public static String nameOrNull(DeviceChoice choiceOrNull) {
        return choiceOrNull == null ? null : choiceOrNull.name();
    }
}
