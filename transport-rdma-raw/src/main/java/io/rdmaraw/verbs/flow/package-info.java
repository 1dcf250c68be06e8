/**
 * Flow rules ({@code ibv_create_flow}): which frames a queue pair gets.
 */
package io.rdmaraw.verbs.flow;
