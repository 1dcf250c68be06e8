/**
 * Support for configuration: the table of the options of a kind of channel ({@link
 * io.rdmaraw.channel.settings.OptionTable}), and checks for a missing device and for the version of Netty.
 */
package io.rdmaraw.channel.settings;
