package io.rdmaraw.net.netlink;

import io.rdmaraw.net.Route;

/**
 * A rule that says which routing table is looked at for which packets: {@code ip rule}.
 *
 * @param family 2 for IPv4, 10 for IPv6
 * @param priority lower ones first
 * @param table the routing table
 * @param action what to do; 1 is to look at the table
 * @param plain whether it holds for all packets
 * @param attributes hash of all that the kernel says of it, to tell it from others
 */
record PolicyRule(int family, int priority, int table, int action, boolean plain, int attributes) {
    private static final int FR_ACT_TO_TBL = 1;
    private static final int LOCAL_PRIORITY = 0;
    private static final int MAIN_PRIORITY = 32766;
    private static final int DEFAULT_PRIORITY = 32767;
    private static final int DEFAULT_TABLE = 253;

    /** Returns whether it is one of those that every host has: all packets, local table, then main, then default. */
    boolean isStandard() {
        return plain && action == FR_ACT_TO_TBL && switch (priority) {
            case LOCAL_PRIORITY -> table == Route.LOCAL_TABLE;
            case MAIN_PRIORITY -> table == Route.MAIN_TABLE;
            case DEFAULT_PRIORITY -> table == DEFAULT_TABLE;
            default -> false;
        };
    }
}
